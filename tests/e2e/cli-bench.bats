# SPDX-License-Identifier: Apache-2.0
# `sluice bench`: what it prints and what it refuses. No test here fails on a time.
bats_require_minimum_version 1.5.0
load fails

setup() {
	SLUICE=${SLUICE:-build/cli/sluice}
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
	# order: six policies, three numbers of files, two patterns, 10,000 requests
	jq -e '[.rows[] | select(.outstanding == 10000 and .jobs == 1) |
		[.order, .files, .pattern]] | unique | length == 36' "$BATS_TEST_TMPDIR/all.json"
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
	wrong "sluice bench sched: no row contains every word of 'nonsense'. $see" \
		bench sched --filter nonsense
	wrong "sluice bench sched: unexpected argument 'more'. $see" bench sched more
	wrong "sluice bench sched: unknown option '--jsn'. Did you mean '--json'? $see" \
		bench sched --jsn
	wrong "sluice bench: unknown measurement 'shed'. Did you mean 'sched'? See 'sluice bench --help'." \
		bench shed
	wrong "sluice bench: name a measurement, such as 'path'. See 'sluice bench --help'." \
		bench
}

@test "help is printed for bench and for each measurement" {
	run "$SLUICE" bench --help
	[ "$status" -eq 0 ]
	[[ "$output" == "usage: sluice bench WHAT"*"path"*"sched"*"share"*"sim"* ]]
	[[ "$output" != *worker* ]]
	for what in control path sched share sim; do
		run "$SLUICE" bench $what --help
		[ "$status" -eq 0 ]
		[[ "$output" == "usage: sluice bench $what"* ]]
		[ -z "$(awk 'length > 80' <<<"$output")" ]
	done
}

# Of the process with that number: no directory, no process.
nothing_left() {
	local left
	left=$(compgen -G "/dev/shm/sluice-$1-*"; compgen -G "/tmp/sluice-$1-*"
		compgen -G "$BATS_TEST_TMPDIR/sluice-$1-*"
		grep -l "/sluice-$1-" /proc/[0-9]*/cmdline 2>/dev/null) || true
	[ -z "$left" ] || {
		echo "left: $left"
		return 1
	}
}

@test "control: JSON has rows of mckp, every grant policy, period, remap and nodes, with the keys of the format" {
	"$SLUICE" bench control --quick --json >"$BATS_TEST_TMPDIR/control.json"
	jq -e '.bench == "control" and (keys == ["bench", "rows"])' "$BATS_TEST_TMPDIR/control.json"
	jq -e '.rows | map(select(.what != "nodes")) | all((keys | contains(["what", "jobs", "ionodes", "options", "samples", "ms"]))
		and .ms > 0)' "$BATS_TEST_TMPDIR/control.json"
	jq -e '[.rows[] | select(.what == "mckp" and .jobs == 512) | [.ionodes, .options]] ==
		[[256, 10], [256, 257]]' "$BATS_TEST_TMPDIR/control.json"
	jq -e '[.rows[] | select(.goal_ms) | .goal_met == (.ms < .goal_ms)] | length >= 10 and all' \
		"$BATS_TEST_TMPDIR/control.json"
	[ "$(jq '[.rows[] | select(.what == "grant" and .jobs == 1000)] | length' \
		"$BATS_TEST_TMPDIR/control.json")" -eq \
		"$("$SLUICE" policy list grant --json | jq '.policies | length')" ]
	jq -e '[.rows[] | select(.what == "period") | .samples] == [640, 1000000]' \
		"$BATS_TEST_TMPDIR/control.json"
	jq -e '[.rows[] | select(.what == "remap" and .ms > 0.1 and .max_ms >= .ms) | [.jobs, .ionodes]] == [[1, 2]]' \
		"$BATS_TEST_TMPDIR/control.json"
	jq -e '[.rows[] | select(.what == "nodes" and .jobs == 1000 and .report_us > 0 and .bare_us > 0 and
		.order_p99_ms >= .order_p50_ms and .order_p50_ms > 0 and .pair_bytes > 0 and .reports_per_s > 0 and .changes_per_s > 0)
		| .ionodes] == [100]' "$BATS_TEST_TMPDIR/control.json"
}

@test "control: the layer of remap is gone when it is done, and when it is interrupted" {
	"$SLUICE" bench control --quick --filter what=remap >"$BATS_TEST_TMPDIR/out" &
	pid=$!
	wait $pid
	nothing_left $pid
	[ -z "$(awk 'length > 80' "$BATS_TEST_TMPDIR/out")" ]
	"$SLUICE" bench control --filter what=remap >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" &
	pid=$!
	for _ in $(seq 100); do
		[ "$(grep -l "/sluice-$pid-" /proc/[0-9]*/cmdline 2>/dev/null | wc -l)" -lt 3 ] || break
		sleep 0.05
	done
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ $status -eq 1 ]
	[ "$(cat "$BATS_TEST_TMPDIR/err")" = "sluice bench control: interrupted; all temporary files were removed." ]
	nothing_left $pid
}

@test "control: a filter chooses rows, and the text fits 80 columns" {
	run --separate-stderr "$SLUICE" bench control --quick --filter what=mckp
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
	[[ "$output" == *"mckp"*" 257 "* && "$output" != *grant* ]]
	wrong "sluice bench control: no row contains every word of 'jobs=7'. See 'sluice bench control --help'." \
		bench control --json --filter jobs=7
}

@test "sim: JSON has rows of both levels, with the keys of the format" {
	"$SLUICE" bench sim --quick --json >"$BATS_TEST_TMPDIR/sim.json"
	jq -e '.bench == "sim" and (keys == ["bench", "rows"])' "$BATS_TEST_TMPDIR/sim.json"
	jq -e '.rows | all((.level == "phase" or .level == "request") and
		(.policy | type) == "string" and .apps >= 1 and .events >= 1 and
		.events_per_s > 0 and .ns_per_event > 0 and .ratio_to_heap > 0)' \
		"$BATS_TEST_TMPDIR/sim.json"
	jq -e '[.rows[] | select(.level == "phase" and .policy == "fair-share") | .apps] ==
		[100, 1024, 10000, 100000]' "$BATS_TEST_TMPDIR/sim.json"
	jq -e '[.rows[] | select(.goal_events_per_s) | .goal_met == (.events_per_s >=
		.goal_events_per_s)] | length >= 4 and all' "$BATS_TEST_TMPDIR/sim.json"
	jq -e '[.rows[] | select(.level == "request")] | length >= 1' "$BATS_TEST_TMPDIR/sim.json"
}

@test "sim: a filter chooses rows, and the text fits 80 columns" {
	run --separate-stderr "$SLUICE" bench sim --quick --filter 'level=phase apps=100'
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
	[[ "$output" == *"fair-share"*"min-dilation"* ]]
	[[ "$output" != *"1024"* && "$output" != *"aioli"* ]]
	wrong "sluice bench sim: no row contains every word of 'apps=1'. See 'sluice bench sim --help'." \
		bench sim --filter apps=1
}

# Figures that are there and do not contradict each other, whatever the machine does.
path_rows_hold() { # file
	jq -e '.bench == "path" and (keys == ["bench", "rows"])' "$1"
	jq -e '.rows | all(keys - ["goal", "goal_met", "node_cpu_goal_us_per_mib", "node_cpu_goal_met",
		"bare_p50_us", "bare_cpu_us_per_mib", "p50_goal_us", "p50_goal_met"] ==
		(["group", "mode", "op", "size", "jobs", "procs", "pairs", "against", "direct_mib_s",
		"sluice_mib_s", "ratio", "ratio_low", "ratio_high", "p50_us", "p99_us",
		"direct_cpu_us_per_mib", "client_cpu_us_per_mib", "node_cpu_us_per_mib"] | sort))' "$1"
	jq -e '.rows | all(.pairs > 0 and .direct_mib_s > 0 and .sluice_mib_s > 0 and
		.ratio_low > 0 and .ratio_low <= .ratio and .ratio <= .ratio_high and .p50_us > 0 and
		.p99_us >= .p50_us and .client_cpu_us_per_mib > 0 and .node_cpu_us_per_mib >= 0)' "$1"
}

@test "path: JSON has the rows and the keys of the format, and nothing is left behind" {
	"$SLUICE" bench path --quick --json --dir "$BATS_TEST_TMPDIR" --filter size=65536 \
		>"$BATS_TEST_TMPDIR/path.json" &
	wait $!
	nothing_left $!
	path_rows_hold "$BATS_TEST_TMPDIR/path.json"
	# One job of one and four processes, two and eight jobs of one; writes and reads; in each mode.
	jq -e '[.rows[] | select(.group == "alone") | .mode] | unique as $modes |
		($modes | length) == 2 and length == 4 * ($modes | length)' "$BATS_TEST_TMPDIR/path.json"
	jq -e '[.rows[] | select(.group == "contend")] | group_by(.mode) | length == 2 and
		all(map([.op, .jobs, .procs]) == [("write", "read") as $op | (2, 8) | [$op, ., 1]])' \
		"$BATS_TEST_TMPDIR/path.json"
	jq -e '[.rows[] | select(.group == "disk") | [.op, .procs]] ==
		[("write", "read") as $op | (1, 4) | [$op, .]]' "$BATS_TEST_TMPDIR/path.json"
	jq -e '[.rows[] | select(.group == "tcp") | [.op, .procs, .against]] ==
		[["write", 4, "bare server"], ["read", 4, "bare server"]]' "$BATS_TEST_TMPDIR/path.json"
	jq -e '[.rows[].group] | index("busy")' "$BATS_TEST_TMPDIR/path.json"
	jq -e '[.rows[] | select(.group == "gate") | [.mode, .op]] ==
		[("strict", "strict-async", "gate") as $mode | ("write", "read") | [$mode, .]]' \
		"$BATS_TEST_TMPDIR/path.json"
	# A capacity is never exceeded by more than what timers are late.
	jq -e '[.rows[] | select(.group == "capacity")] | length == 1 and
		all(.against == "capacity" and .ratio < 1.05)' "$BATS_TEST_TMPDIR/path.json"
}

@test "path: small files and first contact, in each mode" {
	"$SLUICE" bench path --quick --json --rows small --filter procs=1 >"$BATS_TEST_TMPDIR/small.json"
	path_rows_hold "$BATS_TEST_TMPDIR/small.json"
	jq -e '.rows | group_by(.mode) | length == 2 and
		all(map([.op, .size]) == [["create", 3901], ["open", 3901]])' "$BATS_TEST_TMPDIR/small.json"
	"$SLUICE" bench path --quick --json --rows contact --filter op=run >"$BATS_TEST_TMPDIR/contact.json"
	jq -e '.rows | length == 2 and all(.group == "contact" and .programs == 1 and
		.plain_ms > 0 and .env_ms > 0 and .sluice_ms > 0 and .added_low_ms <= .added_ms and
		.added_ms <= .added_high_ms)' "$BATS_TEST_TMPDIR/contact.json"
	run --separate-stderr "$SLUICE" bench path --quick --rows contact --filter op=write
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[ "$(grep -c '^write ' <<<"$output")" -eq 2 ]
}

@test "path, share: a group or a filter that fits nothing is refused in one line" {
	wrong "sluice bench path: unknown group of rows 'contand'. Did you mean 'contend'? See 'sluice bench path --help'." \
		bench path --rows small,contand
	wrong "sluice bench path: no row contains every word of 'jobs=3'. See 'sluice bench path --help'." \
		bench path --json --filter jobs=3
	wrong "sluice bench share: unknown group of rows 'mox'. Did you mean 'max'? See 'sluice bench share --help'." \
		bench share --rows mox
	wrong "sluice bench share: no row contains every word of 'nodes=7'. See 'sluice bench share --help'." \
		bench share --json --filter nodes=7
}

@test "share: JSON has what two jobs got against what was promised, and nothing is left behind" {
	"$SLUICE" bench share --quick --json --rows max,weights --filter 'procs=1 size=65536 nodes=1' \
		>"$BATS_TEST_TMPDIR/share.json" &
	wait $!
	nothing_left $!
	jq -e '.bench == "share" and (keys == ["bench", "rows"])' "$BATS_TEST_TMPDIR/share.json"
	jq -e '[.rows[] | [.case, .promised]] == [["weights", 4], ["weights", 4], ["max", 20], ["max", 20]]' \
		"$BATS_TEST_TMPDIR/share.json"
	jq -e '.rows | all(keys == (["case", "mode", "nodes", "procs", "size", "a_mb_s", "b_mb_s",
		"promised", "got", "off", "goal_off", "goal_met", "capacity_mb_s", "used", "used_goal_met",
		"node_cpu", "node_cpu_goal_met"] | sort))' "$BATS_TEST_TMPDIR/share.json"
	# Bounds that hold on any machine: a max and the capacity, with what leases may be ahead.
	jq -e '.rows | all(.a_mb_s > 0 and .b_mb_s > 0 and .used < 1.2 and .node_cpu >= 0)' \
		"$BATS_TEST_TMPDIR/share.json"
	jq -e '[.rows[] | select(.case == "max")] | all(.a_mb_s < 40 and (.got - .a_mb_s | fabs) < 0.001)' \
		"$BATS_TEST_TMPDIR/share.json"
}

@test "share: a layer of several nodes" {
	run --separate-stderr "$SLUICE" bench share --quick --rows max --filter 'procs=1 size=1048576 nodes=2'
	[ "$status" -eq 0 ]
	[ "$stderr" = "" ]
	[ "$(grep -cE '^max +[a-z]+ +2 +1 +1MiB' <<<"$output")" -eq 2 ]
}

@test "path: interrupted, it ends at once and leaves nothing behind" {
	"$SLUICE" bench path --quick --rows alone >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" &
	pid=$!
	for _ in $(seq 100); do # until the first row is there
		[ "$(wc -l <"$BATS_TEST_TMPDIR/out")" -ge 4 ] && break
		sleep 0.1
	done
	kill -TERM $pid
	status=0
	wait $pid || status=$?
	[ "$status" -eq 1 ]
	[ "$(cat "$BATS_TEST_TMPDIR/err")" = \
		"sluice bench path: interrupted; all temporary files were removed." ]
	nothing_left $pid
}

@test "path: a directory that is not there is refused in one line" {
	run --separate-stderr "$SLUICE" bench path --quick --dir "$BATS_TEST_TMPDIR/none"
	[ "$status" -eq 1 ]
	[ "$stderr" = "sluice bench path: cannot use $BATS_TEST_TMPDIR/none: No such file or directory." ]
}
