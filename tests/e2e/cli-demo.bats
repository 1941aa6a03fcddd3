# SPDX-License-Identifier: Apache-2.0
# `sluice demo`: live, what it says about the policies is so; with --simulate, it is so on every
# device, and it repeats exactly.
bats_require_minimum_version 1.5.0

setup_file() {
	SLUICE=${SLUICE:-build/cli/sluice}
	for device in hdd raid ssd pastel graphene suno edel; do
		"$SLUICE" demo --simulate --device $device --json >"$BATS_FILE_TMPDIR/$device.json"
	done
}

setup() {
	SLUICE=${SLUICE:-build/cli/sluice}
}

# A condition on every device, with $run.NAME.phases|checkpoint|search and .total
holds() {
	local device
	for device in hdd raid ssd pastel graphene suno edel; do
		jq -e '(.runs | map({key: .name, value: ((.jobs | map({key: .name, value: .}) |
			from_entries) + {total: .total_ns, busy: (.busy_ns / .total_ns)})}) |
			from_entries) as $run | '"$1" "$BATS_FILE_TMPDIR/$device.json" >/dev/null || {
			echo "not so on $device: $1"
			return 1
		}
	done
}

@test "simulate: two runs print the same" {
	[ "$("$SLUICE" demo --simulate)" = "$("$SLUICE" demo --simulate)" ]
}

@test "simulate: text fits 80 columns and has every combination" {
	for device in hdd raid ssd pastel graphene suno edel; do
		run --separate-stderr "$SLUICE" demo --simulate --device "$device"
		[ "$status" -eq 0 ]
		[ "$stderr" = "" ]
		[ -z "$(awk 'length > 80' <<<"$output")" ]
		for name in "no scheduler" turns pool fair weights periods limits; do
			grep -q "^$name: " <<<"$output"
		done
		[[ "$output" == *"What to see:"* ]]
	done
}

@test "the commands at its end can be typed as they are" {
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir "$HOME"
	SLUICE_RUNTIME=$(mktemp -d /tmp/sluice-e2e-XXXXXX)
	export SLUICE_RUNTIME
	unset SLUICED SLUICE_PRELOAD
	cd "$(dirname "$SLUICE")/.."
	"$SLUICE" demo --simulate | sed -n '/^Try it/,$s/^  //p' >"$BATS_TEST_TMPDIR/typed"
	cat "$BATS_TEST_TMPDIR/typed"
	head -n 1 "$BATS_TEST_TMPDIR/typed" | grep -qF 'export PATH="$PWD/'
	run bash -e "$BATS_TEST_TMPDIR/typed"
	"$SLUICE" down --all --if-up >/dev/null
	rm -rf "$SLUICE_RUNTIME"
	[ "$status" -eq 0 ] || { echo "$output"; false; }
	[ "$(stat -c %s "$HOME/scratch/file")" -eq $((100 << 20)) ]
	# where sluice is in the PATH, that line is not needed
	[[ "$(PATH=$(dirname "$SLUICE"):$PATH "$SLUICE" demo --simulate)" != *"export PATH"* ]]
}

@test "simulate: each combination does the same work of jobs 1 and 2, and all of it" {
	holds '.runs | length == 7 and all(.jobs[0].bytes == 40 * 4194304 and
		.jobs[1].bytes == 16 * 67108864 and .jobs[2].bytes > 0)'
}

@test "simulate: a device is never more than busy, and work is conserved without a max" {
	holds '[$run[] | .busy] | all(. > 0 and . <= 1)'
	holds '[$run["no scheduler"], $run.turns, $run.fair, $run.weights, $run.periods] |
		all(.busy > 0.99)'
}

@test "simulate: turns, periods and a guarantee each make the phases faster than the one before" {
	holds '$run["no scheduler"].phases.mb_per_s < $run.turns.phases.mb_per_s'
	holds '$run.turns.phases.mb_per_s < $run.periods.phases.mb_per_s'
	holds '$run.periods.phases.mb_per_s < $run.limits.phases.mb_per_s'
	holds '$run.pool.phases.mb_per_s <= $run["no scheduler"].phases.mb_per_s'
}

@test "simulate: fair means equal bytes, and that delays the checkpoint; the others do not" {
	holds '$run.fair | (.search.mb_per_s / .checkpoint.mb_per_s - 1 | fabs) < 0.05'
	holds '$run.fair.checkpoint.end_ns > (if .device == "edel" then 3 else 4 end) * $run["no scheduler"].checkpoint.end_ns'
	holds '[$run.weights, $run.periods, $run.limits] |
		all(.checkpoint.end_ns < 1.5 * $run["no scheduler"].checkpoint.end_ns)'
}

@test "simulate: a max is held, and leaves the device idle" {
	holds '$run.limits.search | .mb_per_s * 1000000 <= .max_bps * 1.03'
	holds '$run.limits.busy < 0.95'
}

@test "simulate: only merging policies merge, and only what is contiguous" {
	holds '$run["no scheduler"] | .phases.merge_ratio == 1 and .checkpoint.merge_ratio == 1'
	holds '$run.turns | .phases.merge_ratio > 4 and .checkpoint.merge_ratio > 4'
	holds '[$run[] | .search.merge_ratio] | all(. < 1.01)'
}

@test "wrong use is refused in one line" {
	run --separate-stderr "$SLUICE" demo --device hd
	[ "$status" -eq 2 ]
	[ "$output" = "" ]
	[ "$stderr" = "sluice demo: unknown device 'hd'. Did you mean 'hdd'? See 'sluice demo --help'." ]
	run --separate-stderr "$SLUICE" demo --device hdd
	[ "$status" -eq 2 ]
	[ "$stderr" = "sluice demo: --device is for --simulate. See 'sluice demo --help'." ]
	run --separate-stderr "$SLUICE" demo --simulate --dir /tmp
	[ "$status" -eq 2 ]
	run --separate-stderr "$SLUICE" demo --dir "$BATS_TEST_TMPDIR/none"
	[ "$status" -eq 1 ]
	[ "$output" = "" ]
	[ "$stderr" = "sluice demo: cannot make a directory for files in $BATS_TEST_TMPDIR/none: No such file or directory." ]
	run --separate-stderr "$SLUICE" demo more
	[ "$status" -eq 2 ]
	[ "$stderr" = "sluice demo: unexpected argument 'more'. See 'sluice demo --help'." ]
}

@test "help names the devices" {
	run "$SLUICE" demo --help
	[ "$status" -eq 0 ]
	[[ "$output" == "usage: sluice demo"*hdd*raid*ssd* ]]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
}

# Of the process with that number: no directory, no process.
nothing_left() {
	local left
	left=$(compgen -G "/tmp/sluice-$1-*"; compgen -G "$BATS_TEST_TMPDIR/*/*"
		grep -l "/sluice-$1-" /proc/[0-9]*/cmdline 2>/dev/null) || true
	[ -z "$left" ] || {
		echo "left: $left"
		return 1
	}
}

@test "live: io-sets and a guaranteed minimum free the small job, in under 90 s, and nothing is left" {
	mkdir "$BATS_TEST_TMPDIR/files"
	begin=$SECONDS
	"$SLUICE" demo --dir "$BATS_TEST_TMPDIR/files" --json >"$BATS_TEST_TMPDIR/live.json" &
	wait $!
	[ $((SECONDS - begin)) -lt 90 ]
	nothing_left $!
	jq -e '.verified and (.runs | map(.name) == ["direct", "fifo", "io-sets", "minimum"] and all(.jobs | length == 4))' \
		"$BATS_TEST_TMPDIR/live.json"
	jq -e '.runs | map({key: .name, value: .jobs[0]}) | from_entries |
		.fifo.slowdown > 2 and .["io-sets"].slowdown < .fifo.slowdown / 2 and
		.minimum.slowdown < .fifo.slowdown / 1.5 and
		.["io-sets"].stretch < .fifo.stretch' "$BATS_TEST_TMPDIR/live.json"
	# Without a node there is no policy; what comes out is the machine's matter.
	jq -e '.runs[0] | .share == null and (.jobs | all(.mb_per_s > 0 and .stretch > 0.5))' \
		"$BATS_TEST_TMPDIR/live.json"
	# Together never more than the capacity: 20 x 4 MiB + 3 x 4 x 48 MiB at 100 MB/s.
	jq -e '.runs[1:] | all([.jobs[].time_ns] | max > 6.5e9)' "$BATS_TEST_TMPDIR/live.json"
}

@test "live: interrupted, it ends at once and leaves nothing behind" {
	mkdir "$BATS_TEST_TMPDIR/files"
	"$SLUICE" demo --dir "$BATS_TEST_TMPDIR/files" >"$BATS_TEST_TMPDIR/out" \
		2>"$BATS_TEST_TMPDIR/err" &
	pid=$!
	for _ in $(seq 200); do # until the first figures are there
		grep -q alone "$BATS_TEST_TMPDIR/out" && break
		sleep 0.1
	done
	sleep 0.5
	begin=$SECONDS
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ "$status" -eq 1 ]
	[ $((SECONDS - begin)) -lt 15 ]
	[ "$(cat "$BATS_TEST_TMPDIR/err")" = "sluice demo: interrupted; nothing is left behind." ]
	[ -z "$(awk 'length > 80' "$BATS_TEST_TMPDIR/out")" ]
	nothing_left $pid
}
