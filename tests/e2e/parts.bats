# SPDX-License-Identifier: Apache-2.0
# Parts of a job: by `run --tag`, by sl_tag_set(), by the paths of files. Each has its own limits and
# figures beside the rest of the job. Times are only compared with what a limit makes them take at
# least.
bats_require_minimum_version 1.5.0
load live

setup_file() {
	compile parts
}

setup() {
	live_setup
	CONFIG=$BATS_TEST_TMPDIR/s.yaml
}

job() { # name, jq filter
	"$SLUICE" status --json | jq --arg job "$1" '.jobs[] | select(.job == $job) | '"$2"
}

wrote() { # job, bytes
	[ "$(job "$1" .write_bytes)" -eq "$2" ]
}

up() { # YAML of tags comes in
	{
		printf 'directory: %s\ncharge: calls\n' "$DIR"
		cat
	} >"$CONFIG"
	"$SLUICE" up --config "$CONFIG"
}

write() { # file, megabytes: milliseconds
	local begin
	begin=$(date +%s%N)
	dd if=/dev/zero of="$1" bs=64K count=$(($2 * 16)) status=none
	echo $((($(date +%s%N) - begin) / 1000000))
}

@test "run --tag is a part with limits of its own, and its job keeps its own" {
	up </dev/null
	export -f write
	# shellcheck disable=SC2016 # the shell of the job expands it
	run -0 "$SLUICE" run --job a --weight 3 -- bash -c '
		write "$1/rest" 40
		"$0" run --tag ckpt --max 10MiB -- bash -c "write \"$1/part\" 10"' "$SLUICE" "$DIR"
	[ "${lines[1]}" -ge 800 ]
	until_true wrote a $((40 << 20))
	until_true wrote a:ckpt $((10 << 20))
	[ "$(job a .max_bps)" -eq 0 ] && [ "$(job a .weight)" -eq 3 ]
	[ "$(job a:ckpt .max_bps)" -eq $((10 << 20)) ]
	"$SLUICE" report | grep -q 'a:ckpt'
	run -2 "$SLUICE" run --tag 'a b' -- true
	[[ "$output" == *"letters, digits"* ]]
	run -2 "$SLUICE" run --job "$(printf 'j%.0s' {1..60})" --tag ckpt -- true
	[[ "$output" == *"longer than 63"* ]]
}

@test "threads with a tag are held by its limits, and others of the process are not" {
	up <<-END
		tags:
		  - tag: ckpt
		    max: 10MiB
	END
	run -0 "$SLUICE" run --job a -- "$BIN/parts" "$DIR" 10 ckpt
	read -r tagged rest <<<"${lines[0]}"
	echo "tagged $tagged ms, rest $rest ms"
	[ "$tagged" -ge 800 ]
	[ "$rest" -lt "$tagged" ]
	[ "${lines[1]}" = "-22 -22 0" ]
	until_true wrote a $((10 << 20))
	until_true wrote a:ckpt $((10 << 20))
	run -0 "$SLUICE" run --job a --mode forward -- sh -c '"$0" "$@" || echo no' "$BIN/parts" "$DIR" 1 ckpt
	[[ "$output" == *no ]] # such calls are the node's, which knows one job for a connection
}

@test "files and operations belong to the part whose pattern their path matches" {
	up <<-END
		tags:
		  - {tag: ckpt, path: "ckpt-*", max: 10MiB, max_remove: 1000}
		  - {tag: logs, path: "*.log"}
	END
	mkdir "$DIR/ckpt-1" "$DIR/other"
	export -f write
	# shellcheck disable=SC2016 # the shell of the job expands it
	run -0 "$SLUICE" run --job a -- bash -c '
		stat "$0/other" >/dev/null
		write "$0/ckpt-1/x" 10
		write "$0/other/y" 20
		cd "$0/other" && write a.log 1
		cd ../ckpt-1 && rm x' "$DIR"
	[ "${lines[0]}" -ge 800 ]
	until_true wrote a:ckpt $((10 << 20))
	until_true wrote a $((20 << 20))
	until_true wrote a:logs $((1 << 20))
	[ "$(job a:ckpt .ops.remove)" -eq 1 ]
	[ "$(job a:ckpt .ops.create)" -ge 1 ]
	[ "$(job a .ops.remove)" -eq 0 ]
	[ "$(job a:ckpt .max_remove)" -eq 1000 ]
	"$SLUICE" set a:ckpt max=0 max_remove=0
	[ "$(job a:ckpt .max_bps)" -eq 0 ]
}

@test "behind a gate, too; and a part that is held holds nothing else" {
	up <<-END
		tags:
		  - {tag: ckpt, path: "ckpt-*", max: 1MiB, max_remove: 1000}
	END
	"$SLUICE" doctor | grep -Eq 'gate .*programs can run behind a gate' || skip 'no seccomp user notification here'
	mkdir "$DIR/ckpt-1" "$DIR/other"
	# The checkpoint has work for a minute when the other file is complete.
	# shellcheck disable=SC2016 # the shell of the job expands it
	run -0 "$SLUICE" run --job a --intercept gate -- bash -c '
		touch "$0/ckpt-1/x" && rm "$0/ckpt-1/x"
		dd if=/dev/zero of="$0/ckpt-1/y" bs=64K count=1000 status=none &
		until [ -s "$0/ckpt-1/y" ]; do sleep .02; done
		dd if=/dev/zero of="$0/other/z" bs=64K count=320 status=none
		kill -0 $! && kill -KILL $! && echo other first' "$DIR"
	[ "${lines[0]}" = "other first" ]
	until_true wrote a $((20 << 20))
	[ "$(job a:ckpt .write_bytes)" -ge 65536 ]
	[ "$(job a:ckpt .ops.remove)" -eq 1 ]
	[ "$(job a:ckpt .ops.create)" -ge 2 ]
	[ "$(job a .ops.remove)" -eq 0 ]
	# A file that has another path now is of another part at once; its inode is the same.
	"$SLUICE" run --job b --intercept gate -- python3 -c '
import os, sys; os.chdir(sys.argv[1])
for i in range(40):
    os.pwrite(os.open("other/f", os.O_CREAT | os.O_WRONLY), b"x", 0)
    os.rename("other/f", "ckpt-1/f")
    os.pwrite(os.open("ckpt-1/f", os.O_WRONLY), bytes(100), 0)
    os.rename("ckpt-1/f", "other/f")' "$DIR"
	until_true wrote b 40
	until_true wrote b:ckpt 4000
}

@test "a rule for parts limits files by path, of all jobs of a user together" {
	up <<-END
		tags:
		  - {tag: ckpt, path: "ckpt-*"}
		rules:
		  - {name: checkpoints, job: "*:ckpt", max: 10MiB, per: user}
	END
	mkdir "$DIR/ckpt-1" "$DIR/ckpt-2"
	export -f write
	local begin=${EPOCHREALTIME/./} n
	for n in 1 2; do
		# shellcheck disable=SC2016 # the shell of the job expands it
		"$SLUICE" run --job a$n -- bash -c 'write "$0/ckpt-$1/x" 10; write "$0/other-$1" 20' "$DIR" $n 3>&- &
		LOADS+=($!)
	done
	wait "${LOADS[@]}"
	[ $((${EPOCHREALTIME/./} - begin)) -ge 1600000 ] # each alone would need 1 s
	for n in 1 2; do
		until_true wrote a$n:ckpt $((10 << 20))
		until_true wrote a$n $((20 << 20))
		[ "$(job a$n:ckpt .rule)" = '"checkpoints"' ]
		[ "$(job a$n .rule)" = null ]
	done
}

@test "a part has a min, a weight and a place in the report of its own" {
	up <<-END
		capacity: 100MB/s
		capacity_ops: 20k
		jobs:
		  - {job: a, weight: 2}
		tags:
		  - {tag: ckpt, path: "ckpt-*", min: 30MB/s, weight: 5, max_write: 10MiB, min_ops: 50}
	END
	"$SLUICE" run --job a -- sh -c 'cat /etc/passwd >"$0/ckpt-1"; cat /etc/passwd >"$0/x"' "$DIR"
	[ "$(job a:ckpt .min_bps)" -eq 30000000 ]
	[ "$(job a:ckpt .weight)" -eq 5 ]
	[ "$(job a:ckpt .min_ops)" -eq 50 ]
	[ "$(job a:ckpt .max_write)" -eq $((10 << 20)) ]
	[ "$(job a .min_bps)" -eq 0 ] && [ "$(job a .weight)" -eq 2 ] && [ "$(job a .max_write)" -eq 0 ]
	until_true wrote a:ckpt "$(stat -c %s /etc/passwd)"
	in_report() { "$SLUICE" report --json | jq -e '[.jobs[].job] | index("a") != null and index("a:ckpt") != null' >/dev/null; }
	until_true 10 in_report
}

@test "what is wrong with tags in sluice.yaml is told with its line" {
	local text
	for text in '- {tag: "a b"}' '- {tag: a, path: /x}' '- {path: x}' '- {tag: a, order: aioli}'; do
		printf 'directory: %s\ntags:\n  %s\n' "$DIR" "$text" >"$CONFIG"
		run ! "$SLUICE" up --config "$CONFIG"
		[[ "$output" == *"s.yaml:3"* ]] || { echo "$output"; return 1; }
	done
}
