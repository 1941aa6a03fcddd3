# SPDX-License-Identifier: Apache-2.0
# `sluice bench sched`: what it prints and what it refuses. No test here fails on a time.
bats_require_minimum_version 1.5.0

setup() {
	SLUICE=${SLUICE:-build/cli/sluice}
}

wrong() {
	local words=$1
	shift
	run --separate-stderr "$SLUICE" "$@"
	[ "$status" -eq 2 ]
	[ "$output" = "" ]
	[ "$stderr" = "$words" ] || {
		echo "got: $stderr"
		return 1
	}
}

@test "JSON has a row for each combination, with the keys of the format" {
	"$SLUICE" bench sched --quick --json >"$BATS_TEST_TMPDIR/all.json"
	jq -e '.bench == "sched" and .baseline_heap_ns > 0' "$BATS_TEST_TMPDIR/all.json"
	jq -e '.rows | all(
		(.admit | type) == "string" and (.share | type) == "string" and
		(.order | type) == "string" and .jobs >= 1 and .files >= 0 and .outstanding >= 0 and
		(.pattern == "contiguous" or .pattern == "random") and
		.ns_per_req > 0 and .ns_min <= .ns_per_req and .merge_ratio >= 1)' \
		"$BATS_TEST_TMPDIR/all.json"
	# share: four policies at four numbers of jobs
	jq -e '[.rows[] | select(.order == "to" and .limits == "none" and .jobs > 1 and
		.periods == "known") | [.share, .jobs]] | unique | length == 16' \
		"$BATS_TEST_TMPDIR/all.json"
	# order: five policies, three numbers of files, two patterns, 10,000 requests
	jq -e '[.rows[] | select(.outstanding == 10000 and .jobs == 1) |
		[.order, .files, .pattern]] | unique | length == 30' "$BATS_TEST_TMPDIR/all.json"
	jq -e '[.rows[] | select(.share == "-" and .order == "-")] | length >= 1' \
		"$BATS_TEST_TMPDIR/all.json"
}

@test "requests are merged where order merges and there are neighbours, and nowhere else" {
	"$SLUICE" bench sched --quick --json --filter jobs=1 >"$BATS_TEST_TMPDIR/one.json"
	jq -e '[.rows[] | select(.order != "to" and .order != "-" and .pattern == "contiguous")] |
		length > 0 and all(.merge_ratio > 4)' "$BATS_TEST_TMPDIR/one.json"
	jq -e '[.rows[] | select(.pattern == "random" or .order == "to")] |
		length > 0 and all(.merge_ratio < 1.1)' "$BATS_TEST_TMPDIR/one.json"
}

@test "rows with min and max on every job have decisions made by guarantees" {
	"$SLUICE" bench sched --quick --json --filter 'limits=min+max jobs=100' \
		>"$BATS_TEST_TMPDIR/limits.json"
	jq -e '.rows | length == 2 and all(.floor_ratio > 0.05)' "$BATS_TEST_TMPDIR/limits.json"
}

@test "a goal is printed where there is one, with whether it is met" {
	"$SLUICE" bench sched --quick --json --filter 'share=wfq order=to jobs=1000 limits=none' \
		>"$BATS_TEST_TMPDIR/goal.json"
	jq -e '.rows | length == 1' "$BATS_TEST_TMPDIR/goal.json"
	jq -e '.rows[0] | .goal_ns == 250 and .goal_met == (.ns_per_req <= 250)' \
		"$BATS_TEST_TMPDIR/goal.json"
}

@test "the text fits 80 columns and names the baseline" {
	run --separate-stderr "$SLUICE" bench sched --quick
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
	[[ "$output" == *"io-sets"*"aioli"*"token-bucket"*"heap: "* ]]
}

@test "--filter takes whole words with =, and parts of words without" {
	run "$SLUICE" bench sched --quick --filter 'jobs=1000 fifo'
	[ "$status" -eq 0 ]
	[ "$(grep -c '^fifo' <<<"$output")" -eq 1 ]
	[ "$(grep -cE '^(wfq|io-sets|round-robin)' <<<"$output")" -eq 0 ]
}

@test "wrong use is refused in one line" {
	see="See 'sluice bench sched --help'."
	wrong "sluice bench sched: no row holds every word of 'nonsense'. $see" \
		bench sched --filter nonsense
	wrong "sluice bench sched: unexpected argument 'more'. $see" bench sched more
	wrong "sluice bench sched: unknown option '--jsn'. Did you mean '--json'? $see" \
		bench sched --jsn
	wrong "sluice bench: unknown measurement 'shed'. Did you mean 'sched'? See 'sluice bench --help'." \
		bench shed
	wrong "sluice bench: nothing to measure was named, such as 'sched'. See 'sluice bench --help'." \
		bench
}

@test "help is printed for bench and for bench sched" {
	run "$SLUICE" bench --help
	[ "$status" -eq 0 ]
	[[ "$output" == "usage: sluice bench WHAT"*"sched"* ]]
	run "$SLUICE" bench sched --help
	[ "$status" -eq 0 ]
	[[ "$output" == "usage: sluice bench sched"* ]]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
}
