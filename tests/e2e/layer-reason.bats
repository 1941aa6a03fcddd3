# SPDX-License-Identifier: Apache-2.0
# The reason in `sluice status --json`: why a job is as fast as it is, told by who holds it.
bats_require_minimum_version 1.5.0
load live

setup_file() {
	compile live-load
}

load_of() { # job, options of run
	local job=$1
	shift
	start_load "$job" "$@" -- "$BIN/live-load" -T 120 -t 4 "$DIR/$job" >/dev/null
}

says() { # job, words
	[ "$(job "$1" reason)" = "$2" ]
}

# Moments differ; it must come soon, and often.
soon() { # job, words
	until_true 20 says "$1" "$2" || { echo "# $1: $(job "$1" reason)"; return 1; }
}

@test "a job at its max, one that shares the capacity, one that has ended" {
	"$SLUICE" up --charge calls --capacity 40M "$DIR" >/dev/null
	load_of a --max 4M
	soon a "at max"
	load_of b
	soon b "capacity shared"
	end_load 0
	end_load 1
	soon a ended
	soon b ended
}

@test "a job that does nothing yet, and one that does nothing any more" {
	"$SLUICE" up "$DIR" >/dev/null
	mkfifo "$BATS_TEST_TMPDIR/go"
	start_load a -- bash -c 'read -r line <"$0"' "$BATS_TEST_TMPDIR/go"
	start_load b -- bash -c 'exec 5>"$1"; echo x >&5; read -r line <"$0"' "$BATS_TEST_TMPDIR/go" "$DIR/f"
	soon b computing
	soon a idle
}

@test "io-sets: the job of the same set waits for the one that has it" {
	"$SLUICE" up --charge calls --capacity 20M --policy share=io-sets "$DIR" >/dev/null
	load_of a --period 10
	until_true 10 says a "at capacity"
	load_of b --period 12
	soon b "waiting for job a"
	load_of c --period 1
	soon b "waiting for job a"
	soon a "waiting for set 0"
}

@test "with a controller a grant of 0 waits for the jobs that have one" {
	"$SLUICE" up --charge calls --capacity 20M --policy grant=fcfs "$DIR" >/dev/null
	load_of a
	until_true 10 flowing a
	load_of b
	soon b "granted 0 until job a is done"
	until_true 10 eval '[ "$(status "[.jobs[] | select(.job == \"b\").parts[].reason] | index(\"granted 0\") != null")" = true ]'
	end_load 0
	until_true 10 is_free b
}

@test "a grant above max goes to the next, and a job without one has its min" {
	"$SLUICE" up --charge calls --capacity 40M --policy grant=fcfs "$DIR" >/dev/null
	load_of a --max 4M
	until_true 10 flowing a
	load_of b
	until_true 10 has_grant b 36000000
	until_true 20 eval "[[ \"\$(job b reason)\" != *granted* ]]"
	# With nothing left over, only what was guaranteed.
	"$SLUICE" set a max=0
	load_of c --min 8M
	soon c "at min"
	soon_waits b "until job a is done"
}

@test "on two nodes one job has the grant, and the others wait for it" {
	"$SLUICE" up --charge calls --ionodes 2 --capacity 20M --policy grant=fcfs "$DIR" >/dev/null
	load_of a
	until_true 10 flowing a
	load_of b
	load_of c
	soon_waits b "until job a is done"
	soon_waits c "until job a is done"
}

has_grant() { # job, bytes per second
	[ "$(job "$1" 'grant_bps | round')" = "$2" ]
}

# It has next to nothing: what a node without work may draw.
soon_waits() { # job, words
	until_true 20 eval "[[ \"\$(job $1 reason)\" == *\"$2\" ]]" || { echo "# $1: $(job "$1" reason)"; return 1; }
}

flowing() { # job
	[ "$(job "$1" bandwidth_bps)" -gt 0 ]
}

is_free() { # job
	[[ "$(job "$1" reason)" != *"until job"* ]]
}
