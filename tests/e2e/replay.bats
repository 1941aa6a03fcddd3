# SPDX-License-Identifier: Apache-2.0
# `sluice replay`: a recording of a live node under load gives the same decisions again, and its
# I/O can be done again on another layer.
bats_require_minimum_version 1.5.0

paths() {
	SLUICE=$(realpath "${SLUICE:-build/cli/sluice}")
	REAL=$(realpath "${SLUICED:-$(dirname "$SLUICE")/../sluiced/sluiced}")
	export SLUICE_RUNTIME=$BATS_FILE_TMPDIR/rt
	DIR=$BATS_FILE_TMPDIR/dir
	TRACE=$BATS_FILE_TMPDIR/trace
}

# A node that records, with all policies in turn and jobs changed, under load. Once for all tests.
setup_file() {
	paths
	mkdir -m 700 "$SLUICE_RUNTIME"
	mkdir "$DIR"
	printf '#!/bin/sh\nexec %s "$@" --trace %s\n' "$REAL" "$TRACE" >"$BATS_FILE_TMPDIR/recording"
	chmod +x "$BATS_FILE_TMPDIR/recording"
	SLUICED=$BATS_FILE_TMPDIR/recording "$SLUICE" up --charge calls --name record --capacity 400MB/s "$DIR"
	for job in 1 2 3; do
		"$SLUICE" run --name record --job load-$job --weight $job --period 0.$job -- \
			sh -c "while [ ! -e $BATS_FILE_TMPDIR/stop ]; do
				dd if=/dev/zero of=$DIR/$job bs=300k count=40 conv=notrunc status=none
				dd if=$DIR/$job of=/dev/null bs=64k status=none
				dd if=/dev/zero of=$DIR/$job.s bs=1000 count=300 conv=notrunc status=none
				echo line >>$DIR/log
			done" &
	done
	for policies in "share=fifo order=to" "share=round-robin order=to-agg" \
		"share=wfq order=sjf" "share=io-sets order=mlf" "share=pool order=aioli" \
		"share=io-sets,quantum_bytes=64Ki order=aioli,wait_us=300 admit=token-bucket"; do
		"$SLUICE" policy set --name record $policies
		sleep 0.3
		"$SLUICE" set --name record load-1 max=20M
		sleep 0.2
		"$SLUICE" set --name record load-1 max=0 min=100M weight=9
		"$SLUICE" set --name record load-2 order=sjf period=10
		"$SLUICE" set --name record --capacity 150MB/s
		sleep 0.2
		"$SLUICE" set --name record load-1 min=0
		"$SLUICE" set --name record load-2 order=default
		"$SLUICE" set --name record --capacity 400MB/s
	done
	touch "$BATS_FILE_TMPDIR/stop"
	wait
	"$SLUICE" down --name record
}

setup() {
	paths
}

teardown() {
	"$SLUICE" down --name again >/dev/null 2>&1 || true
}

@test "every decision of a live node comes out again, whatever the policies and changes" {
	run --separate-stderr "$SLUICE" replay "$TRACE"
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[[ "${lines[0]}" =~ ^([0-9]+)" decisions, all equal"$ ]]
	[ "${BASH_REMATCH[1]}" -gt 1000 ]
	[ "$("$SLUICE" replay --check "$TRACE")" = "$output" ]
	"$SLUICE" replay --json "$TRACE" | jq -e '.equal and .decisions > 1000 and
		.requests >= .batches and .recorded_s > 3'
}

# Change the count of the $1-th decision that gave a batch.
tamper() {
	perl -e 'local $/; open F, "<:raw", $ARGV[0]; $_ = <F>; my ($at, $n) = (8, 0);
		while ($at < length) {
			my ($type, $size) = unpack "vv", substr $_, $at, 4;
			if ($type == 3 && unpack("V", substr $_, $at + 16, 4) && ++$n == $ARGV[1]) {
				substr($_, $at + 16, 4) = pack "V", 77;
				print; exit 0;
			}
			$at += $size;
		}
		exit 1' "$TRACE" "$1"
}

@test "the first decision that differs is named" {
	tamper 100 >"$BATS_TEST_TMPDIR/other"
	run --separate-stderr "$SLUICE" replay "$BATS_TEST_TMPDIR/other"
	[ "$status" -eq 1 ]
	[ "$output" = "" ]
	[[ "$stderr" =~ ^"sluice replay: decision "[0-9]+" differs, after "[0-9.]+" s (record " ]]
	[[ "$stderr" == *"recorded was request "*", 77 in the batch; now it is request "* ]]
}

@test "a trace that is cut off or damaged is refused, and where" {
	size=$(stat -c %s "$TRACE")
	head -c $((size - 5)) "$TRACE" >"$BATS_TEST_TMPDIR/cut"
	run --separate-stderr "$SLUICE" replay "$BATS_TEST_TMPDIR/cut"
	[ "$status" -eq 2 ]
	[ "$output" = "" ]
	[[ "$stderr" == "sluice replay: $BATS_TEST_TMPDIR/cut is cut off within record "*" decisions before that are equal." ]]

	cp "$TRACE" "$BATS_TEST_TMPDIR/bad"
	head -c 2000 /dev/zero | dd of="$BATS_TEST_TMPDIR/bad" bs=1 seek=20000 conv=notrunc status=none
	run --separate-stderr "$SLUICE" replay "$BATS_TEST_TMPDIR/bad"
	[ "$status" -ne 0 ]
	[ "$output" = "" ]
	[ "$(wc -l <<<"$stderr")" -eq 1 ]

	head -c 8 "$TRACE" >"$BATS_TEST_TMPDIR/empty"
	run --separate-stderr "$SLUICE" replay "$BATS_TEST_TMPDIR/empty"
	[ "$status" -eq 2 ]
	printf 'SLTRACE3\2\0\100\0garbage' >"$BATS_TEST_TMPDIR/first"
	run --separate-stderr "$SLUICE" replay "$BATS_TEST_TMPDIR/first"
	[ "$status" -eq 2 ]
	run --separate-stderr "$SLUICE" replay /dev/null
	[ "$status" -eq 2 ]
	[ "$stderr" = "sluice replay: /dev/null is not a trace; 'sluice up --trace' makes them." ]
	run --separate-stderr "$SLUICE" replay "$BATS_TEST_TMPDIR/none"
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice replay: cannot read $BATS_TEST_TMPDIR/none: No such file or directory." ]
}

@test "the I/O is done again on a live layer, all of it, and nothing is left" {
	mkdir "$BATS_TEST_TMPDIR/root"
	"$SLUICE" up --name again "$BATS_TEST_TMPDIR/root"
	run --separate-stderr "$SLUICE" replay --name again --speed 0 --json "$TRACE"
	[ "$status" -eq 0 ]
	echo "$output" >"$BATS_TEST_TMPDIR/out.json"
	requests=$("$SLUICE" replay --json "$TRACE" | jq .requests)
	jq -e --argjson n "$requests" '(.jobs | length) == 3 and ([.jobs[].requests] | add) == $n and
		([.jobs[].failed] | add) == 0' "$BATS_TEST_TMPDIR/out.json"
	# It went through the node.
	bytes=$(jq '[.jobs[] | .write_bytes] | add' "$BATS_TEST_TMPDIR/out.json")
	"$SLUICE" status --name again --json >"$BATS_TEST_TMPDIR/status.json"
	grep -q '"replay-3"' "$BATS_TEST_TMPDIR/status.json"
	jq -e --argjson n "$bytes" '[.. | .write_bytes? // empty] | add == $n' \
		"$BATS_TEST_TMPDIR/status.json"
	[ -z "$(ls -A "$BATS_TEST_TMPDIR/root")" ]
}

@test "at the recorded times it takes as long as it did, at twice the speed half of that" {
	mkdir "$BATS_TEST_TMPDIR/root"
	"$SLUICE" up --name again "$BATS_TEST_TMPDIR/root"
	"$SLUICE" replay --name again --speed 2 --json "$TRACE" >"$BATS_TEST_TMPDIR/out.json"
	jq -e '.recorded_s as $r | [.jobs[].took_s] | max >= $r / 2 - 0.1' "$BATS_TEST_TMPDIR/out.json"
	run "$SLUICE" replay --name again --speed 4 "$TRACE"
	[ "$status" -eq 0 ]
	[[ "$output" == *"replay-1 "*"replay-2 "*"replay-3 "* ]]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
}

@test "a layer that is not up, and wrong use, are refused" {
	run --separate-stderr "$SLUICE" replay --name nowhere "$TRACE"
	[ "$status" -eq 1 ]
	[[ "$stderr" == "sluice replay: layer 'nowhere' is not up."* ]]
	see="See 'sluice replay --help'."
	run --separate-stderr "$SLUICE" replay
	[ "$status" -eq 2 ]
	[ "$stderr" = "sluice replay: no trace given. $see" ]
	run --separate-stderr "$SLUICE" replay --speed fast --name x "$TRACE"
	[ "$status" -eq 2 ]
	[ "$stderr" = "sluice replay: --speed: 'fast' is not a number from 0. $see" ]
	run --separate-stderr "$SLUICE" replay --speed 2 "$TRACE"
	[ "$status" -eq 2 ]
	run --separate-stderr "$SLUICE" replay --check --name x "$TRACE"
	[ "$status" -eq 2 ]
}

@test "help fits 80 columns" {
	run "$SLUICE" replay --help
	[ "$status" -eq 0 ]
	[[ "$output" == "usage: sluice replay"* ]]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
}
