# SPDX-License-Identifier: Apache-2.0
# `sluice demo`: its figures are what it says about the policies, and nothing is left behind.
bats_require_minimum_version 1.5.0

setup() {
	SLUICE=${SLUICE:-build/cli/sluice}
}

@test "the commands at its end can be typed as they are" {
	export HOME=$BATS_TEST_TMPDIR/home
	mkdir "$HOME"
	SLUICE_RUNTIME=$(mktemp -d /tmp/sluice-e2e-XXXXXX)
	export SLUICE_RUNTIME
	unset SLUICED SLUICE_PRELOAD
	cd "$(dirname "$SLUICE")/.."
	"$SLUICE" demo --help | sed -n '/^Try it/,$s/^  //p' >"$BATS_TEST_TMPDIR/typed"
	cat "$BATS_TEST_TMPDIR/typed"
	head -n 1 "$BATS_TEST_TMPDIR/typed" | grep -qF 'export PATH="$PWD/'
	run bash -e "$BATS_TEST_TMPDIR/typed"
	"$SLUICE" down --all --if-up >/dev/null
	rm -rf "$SLUICE_RUNTIME"
	[ "$status" -eq 0 ] || { echo "$output"; false; }
	[ "$(stat -c %s "$HOME/scratch/file")" -eq $((100 << 20)) ]
	# where sluice is in the PATH, that line is not needed
	[[ "$(PATH=$(dirname "$SLUICE"):$PATH "$SLUICE" demo --help)" != *"export PATH"* ]]
}

@test "wrong use is refused" {
	run --separate-stderr "$SLUICE" demo --dir "$BATS_TEST_TMPDIR/none"
	[ "$status" -eq 1 ]
	[ "$output" = "" ]
	[[ "$stderr" == *"cannot make a directory"*none* ]]
	run --separate-stderr "$SLUICE" demo more
	[ "$status" -eq 2 ]
	[[ "$stderr" == *"unexpected argument 'more'"* ]]
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
	[ "$(cat "$BATS_TEST_TMPDIR/err")" = "sluice demo: interrupted; all temporary files were removed." ]
	[ -z "$(awk 'length > 80' "$BATS_TEST_TMPDIR/out")" ]
	nothing_left $pid
}
