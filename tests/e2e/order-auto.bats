# SPDX-License-Identifier: Apache-2.0
# What a layer sees of its jobs' access patterns, and what order=auto makes of it.
bats_require_minimum_version 1.5.0
load live

job() { # filter on the object of job j
	"$SLUICE" status --json | jq -e ".jobs[] | select(.job == \"j\") | $1"
}

@test "status says what a job's requests look like" {
	"$SLUICE" up --ask-always "$DIR" >/dev/null
	"$SLUICE" run --job j -- dd if=/dev/zero of="$DIR/f" bs=4K count=64 status=none
	job '.pattern == {spatiality: "contiguous", size: "small", op: "write", files: 1, call_bytes: 4096}'
	run -0 timeout 20 script -qec 'stty cols 200; "$SLUICE" status' /dev/null
	[[ "$output" == *" PATTERN"* ]]
	[[ "$output" == *" w contiguous 4.10K/1"* ]]
}

@test "the built-in tree is what train makes of the shipped table" {
	"$SLUICE" train "$SOURCE_DIR/tests/data/learn/runs.csv" --output "$BATS_TEST_TMPDIR/tree" >/dev/null
	diff "$BATS_TEST_TMPDIR/tree" "$SOURCE_DIR/sched/auto.tree"
}

# 16 KiB out of every 64, each where none was before: strided, small writes, one file.
stride() { # file, count
	"$SLUICE" run --job j -- python3 -c '
import os, sys
f = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
for i in range(int(sys.argv[2])):
    os.pwrite(f, bytes(4096), i * 65536)' "$DIR/$1" "$2"
}

tree() { # policy for strided writes on a slow and on a fast device
	cat >"$BATS_TEST_TMPDIR/my.tree" <<END
sluice-tree 1
attribute spatiality: contiguous strided random
attribute ratio: number
class: to sjf aioli
tree:
spatiality = contiguous: to
spatiality = strided
|   ratio <= 5: $1
|   ratio > 5: $2
spatiality = random: to
END
}

@test "auto chooses by pattern and device, and says why; replay finds the same" {
	cd "$BATS_TEST_TMPDIR"
	tree sjf aioli
	REAL=$(realpath "$(dirname "$SLUICE")/../sluiced/sluiced")
	printf '#!/bin/sh\nexec %s "$@" --trace %s\n' "$REAL" "$BATS_TEST_TMPDIR/trace" >recording
	chmod +x recording
	# the path is made whole: the node runs elsewhere
	SLUICED=$BATS_TEST_TMPDIR/recording "$SLUICE" up --device-model bandwidth=2G,seek=10us \
		--policy order=auto,tree=my.tree "$DIR" >/dev/null
	stride a 20
	job '.order == "to-agg" and .order_reason == "too few requests yet"'
	stride a 200
	job '.order == "aioli" and (.order_reason | test("^tree: strided small writes on 1 file, ratio [56]"))'
	"$SLUICE" policy set order=auto,tree=my.tree,ratio_percent=150
	stride b 200
	job '.order == "sjf" and .order_reason == "tree: strided small writes on 2 files, ratio 1.5"'
	run -1 --separate-stderr "$SLUICE" set j order=auto,tree=my.tree max=1M
	[[ "$stderr" == *"order/auto: tree=my.tree cannot be read: give its absolute path"* ]]
	job '.order == "sjf" and .max_bps == 0' # nothing was done
	tree mlf mlf
	run -2 --separate-stderr "$SLUICE" policy set order=auto,tree=my.tree
	[[ "$stderr" == *"my.tree:8: "* ]]
	"$SLUICE" policy set order=to
	job '.order == "to" and .order_reason == null'
	"$SLUICE" down >/dev/null
	rm my.tree # it is in the trace
	run -0 "$SLUICE" replay "$BATS_TEST_TMPDIR/trace"
	[[ "$output" == *" decisions, all equal"* ]]
}

@test "trees that cannot be used are refused, in words" {
	cd "$BATS_TEST_TMPDIR"
	run -2 --separate-stderr "$SLUICE" up --policy order=auto,tree=none.tree "$DIR"
	[ "$stderr" = "sluice up: order/auto: tree=none.tree cannot be read: No such file or directory. See 'sluice up --help'." ]
	echo nonsense >my.tree
	run -2 --separate-stderr "$SLUICE" up --policy order=auto,tree=my.tree "$DIR"
	[[ "$stderr" == "sluice up: my.tree:1: "* ]]
	"$SLUICE" train "$SOURCE_DIR/tests/data/learn/iris.csv" --output iris.tree >/dev/null
	run -2 --separate-stderr "$SLUICE" up --policy order=auto,tree=iris.tree "$DIR"
	[[ "$stderr" == "sluice up: order/auto: iris.tree: "*" is not an attribute that a scheduler sees"* ]]
}
