# SPDX-License-Identifier: Apache-2.0
# `sluice status`, `sluice set`, `sluice policy set`: see and change a layer.
bats_require_minimum_version 1.5.0
load layer

setup() {
	STOPPED=
	layer_setup
	"$SLUICE" up --charge calls --capacity 200MB/s "$DIR" >/dev/null
}

teardown() {
	[ -z "$STOPPED" ] || kill -KILL "$STOPPED"
	layer_teardown
}

stop() { # pid
	STOPPED=$1
	kill -STOP "$STOPPED"
}

fits() { # $output, in columns
	awk -v width="$1" 'length > width { print "too long: " $0; bad = 1 } END { exit bad }' <<<"$output"
}

# A job that stays: it has done I/O.
some_job() { # name, options of run
	local name=$1
	shift
	"$SLUICE" run --job "$name" "$@" -- dd if=/dev/zero of="$DIR/$name" bs=64K count=4 status=none
}

@test "status is a table of 80 columns" {
	run -0 "$SLUICE" status
	[[ "$output" == *"No jobs yet: 'sluice run -- COMMAND' starts one."* ]]
	some_job 9 --weight 7 --period 20 --min 30M --max 1.5G
	some_job 10
	some_job a-name-that-is-much-longer-than-its-column
	run -0 "$SLUICE" status
	fits 80
	[ "${lines[0]}" = "Layer 'default' for $DIR" ]
	[[ "${lines[1]}" == "Node:     up "*", pid $(node_pid), "*" worker"?(s) ]]
	[ "${lines[2]}" = "Policies: admit=token-bucket share=wfq order=to-agg" ]
	[ "${lines[3]}" = "Capacity: 200MB/s, of which 30MB/s promised; calls are charged" ]
	[ "${lines[6]}" = "JOB         CL   NOW   AVG  IOPS QUEUE  HELD   P50   P99 SET   %   MIN   MAX  WT" ]
	# numbers in their order, long names cut
	[[ "${lines[7]}" =~ ^9\ .*\ S1\ .*\ 30.0M\ 1.50G\ +7$ ]]
	[[ "${lines[8]}" =~ ^10\ .*\ -\ .*\ -\ +-\ +1$ ]]
	[[ "${lines[9]}" == "a-name-th~ "* ]]
	# large weights do not run into what is left of them
	"$SLUICE" set 9 weight=999999
	"$SLUICE" set 10 weight=50000
	run -0 "$SLUICE" status
	fits 80
	[[ "${lines[7]}" == *" 1.50G  1M" ]]
	[[ "${lines[8]}" == *"     - 50K" ]]
}

@test "one is no plural, and long names of layers do not shift the list" {
	"$SLUICE" down
	"$SLUICE" up --workers 1 "$DIR"
	run -0 "$SLUICE" status
	[[ "${lines[1]}" == *", 1 worker" ]]
	"$SLUICE" up --name a23456789-123456789-123456789-12 "$DIR"
	run -0 "$SLUICE" status --all
	[ "$(grep -ob "$DIR" <<<"$(sed -n 2p <<<"$output")")" = "$(grep -ob "$DIR" <<<"$(sed -n 3p <<<"$output")")" ]
}

@test "status --json is JSON, with all that the table has" {
	some_job j --weight 7 --period 20 --procs 8 --nodes 2
	run -0 --separate-stderr "$SLUICE" status --json
	jq -e '.name == "default" and .root == "'"$DIR"'" and .capacity_bps == 200000000 and
		.policy.share == "wfq" and (.pid | type == "number") and
		(.decisions_per_s | type == "number") and (.window_batches | type == "number")' <<<"$output"
	jq -e '.jobs | length == 1 and (.[0] |
		.job == "j" and .weight == 7 and .period_s == 20 and .set == 1 and
		.procs == 8 and .nodes == 2 and .write_bytes == 262144 and .clients == 0 and
		([.bandwidth_bps, .average_bps, .iops, .queued_requests, .throttled_s, .share,
		  .latency_us.p50, .latency_us.p99, .min_bps, .max_bps] | all(type == "number")))' <<<"$output"
}

@test "status --watch appends when it is no terminal, and ends when its layer does" {
	run -0 timeout --preserve-status --signal=INT 2 "$SLUICE" status --watch 0.3
	[ "$(grep -c "^Layer 'default'" <<<"$output")" -ge 3 ]
	[[ "$output" != *$'\033'* ]]
	run -0 timeout --preserve-status --signal=TERM 1 "$SLUICE" status --json --watch=0.2
	[ "$(jq -s length <<<"$output")" -ge 3 ]
	"$SLUICE" status -w >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" 3>&- &
	sleep 0.5
	"$SLUICE" down
	wait $! && code=0 || code=$?
	[ "$code" -eq 1 ]
	[ "$(cat "$BATS_TEST_TMPDIR/err")" = "sluice status: no layer is up. Start one with 'sluice up DIR'." ]
	fails 2 "sluice status: --watch: '0' is not a time from 0.1 seconds to a day. See 'sluice status --help'." status --watch 0
	fails 2 "sluice status: --curves can only be combined with --name; it prints CSV for the layer. See 'sluice status --help'." status --curves --json
	fails 2 "sluice status: unexpected argument 'x'; a layer is chosen with --name. See 'sluice status --help'." status x
}

@test "status --watch draws on a terminal in place, and gives it back" {
	export TERM=xterm SLUICE
	run -0 timeout 20 script -qec 'stty cols 120 rows 12; timeout --preserve-status --signal=INT 1.5 "$SLUICE" status --watch 0.3' /dev/null
	[[ "$output" == *$'\033[?1049h\033[?25l\033[?7l\033[H'* ]]
	[[ "$output" == *$'\033[?7h\033[?25h\033[?1049l' ]]
	[ "$(grep -o $'\033\\[H' <<<"$output" | wc -l)" -ge 3 ]
	# wider than 80 it tells more
	some_job j
	run -0 timeout 20 script -qec 'stty cols 120; "$SLUICE" status' /dev/null
	[[ "$output" == *"READ WRITE"*"OPS PERIOD MERGE"* ]]
}

@test "a reader of --watch that goes away ends it" {
	run timeout 10 bash -c '"$0" status --watch 0.1 | head -n 1' "$SLUICE"
	[ "$status" -eq 0 ]
	[[ "$output" == *"Layer 'default' for $DIR"* ]]
}

@test "set changes a running job, and only what it is told to" {
	some_job j --weight 7 --max 1G
	run -0 "$SLUICE" set j max=50MB/s period=500ms
	[ "$output" = "" ]
	[ "$("$SLUICE" status --json | jq -c '.jobs[] | [.max_bps, .weight, .period_s, .set]')" = "[50000000,7,0.5,0]" ]
	"$SLUICE" set j period=auto
	"$SLUICE" status --json | jq -e '.jobs[0] | .period_s == 0 and .asked_period_s == 0 and .set == null'
	"$SLUICE" set j period=500ms
	"$SLUICE" set j max=0 min=20M burst=2Mi best_effort=1 weight=2 order=sjf
	[ "$("$SLUICE" status --json | jq -c '.jobs[] | [.max_bps, .min_bps, .burst_bytes, .best_effort, .weight]')" = "[0,20000000,2097152,true,2]" ]
	"$SLUICE" set j order=default
}

@test "set does all or nothing, and says what is wrong" {
	some_job j --weight 7
	see="See 'sluice set --help'."
	before=$("$SLUICE" status --json | jq -c '.jobs[] | [.max_bps, .min_bps, .weight]')
	fails 1 "sluice set: min 300MB/s does not fit: 0B/s of 200MB/s are promised to other jobs." set j weight=9 min=300M
	fails 2 "sluice set: order: no policy 'x'; there are to-agg, to, sjf, mlf, aioli, auto. $see" set j weight=9 order=x
	fails 1 "sluice set: min 30MB/s is above max 20MB/s." set j weight=9 min=30M max=20M
	[ "$("$SLUICE" status --json | jq -c '.jobs[] | [.max_bps, .min_bps, .weight]')" = "$before" ]
	fails 1 "sluice set: no job 'k'; see 'sluice status'." set k weight=1
	fails 2 "sluice set: no job given; 'sluice status' lists them. $see" set
	fails 2 "sluice set: nothing to set; give KEY=VALUE, like max=100M. $see" set j
	fails 2 "sluice set: 'max' is not KEY=VALUE, like max=100M. $see" set j max
	fails 2 "sluice set: max: 'x' is not a rate; write 200M, 1.5Gi or 100MB/s. $see" set j max=x
	run -2 --separate-stderr "$SLUICE" set j wieght=2
	[[ "$stderr" == *"there are min, max, "*". Did you mean 'weight'?"* ]]
}

@test "set --capacity changes what a running layer may draw, and what can be promised" {
	some_job j
	fails 1 "sluice set: min 300MB/s does not fit: 0B/s of 200MB/s are promised to other jobs." set j min=300M
	run -0 "$SLUICE" set --capacity 400MB/s
	[ "$output" = "" ]
	"$SLUICE" set j min=300M
	run -0 "$SLUICE" status
	[ "${lines[3]}" = "Capacity: 400MB/s, of which 300MB/s promised; calls are charged" ]
	fails 1 "sluice set: the capacity cannot be unknown while jobs have a min." set --capacity 0
	# one that is too small for what is promised scales that down
	"$SLUICE" set --capacity 150MB/s
	[ "$("$SLUICE" status --json | jq -c '[.capacity_bps, .jobs[0].min_bps, .jobs[0].asked_min_bps]')" = "[150000000,150000000,300000000]" ]
	"$SLUICE" set j min=0
	# it paces: 8 MB at 4 MB/s, less what is let through at once, and no longer under one that is gone
	"$SLUICE" set --capacity 4MB/s
	start=$(date +%s%N)
	"$SLUICE" run -- dd if=/dev/zero of="$DIR/f" bs=1M count=8 status=none
	[ $((($(date +%s%N) - start) / 1000000)) -ge 1500 ]
	"$SLUICE" set --capacity 1000
	"$SLUICE" run -- dd if=/dev/zero of="$DIR/f" bs=1M count=8 status=none 3>&- &
	sleep 0.5
	"$SLUICE" set --capacity 0
	timeout 20 tail --pid=$! -f /dev/null
	wait $!
	[ "$("$SLUICE" status --json | jq .capacity_bps)" = 0 ]
	see="See 'sluice set --help'."
	fails 2 "sluice set: --capacity: 'x' is not a rate; write 200M, 1.5Gi, 100MB/s or auto. $see" set --capacity x
	fails 2 "sluice set: a capacity belongs to the layer; change the job 'j' in another command. $see" set --capacity 1G j min=1
}

@test "the average of a job that has ended stays what it was" {
	some_job j
	sleep 1.2
	before=$(job j average_bps)
	[ "$before" -gt 0 ]
	sleep 0.5
	[ "$(job j average_bps)" -eq "$before" ]
}

@test "policy set changes a running layer, whole or not at all" {
	run -0 "$SLUICE" policy set share=io-sets order=aioli,wait_us=500
	[ "$output" = "" ]
	[ "$("$SLUICE" status --json | jq -c '[.share, .order, .policy.order]')" = '["io-sets","aioli","aioli,wait_us=500"]' ]
	run -0 "$SLUICE" status
	[[ "$output" == *"Policies: admit=token-bucket share=io-sets order=aioli,wait_us=500"* ]]
	see="See 'sluice policy --help'."
	fails 2 "sluice policy: order: no policy 'x'; there are to-agg, to, sjf, mlf, aioli, auto. $see" policy set share=wfq order=x
	fails 1 "sluice policy: layer 'default' has no controller, which grant and allocate need. Start it with 'sluice up --ionodes N' or '--policy grant=POLICY'." policy set share=wfq grant=none
	fails 2 "sluice policy: 'wfq' is not STAGE=POLICY, like share=io-sets. $see" policy set wfq
	fails 2 "sluice policy: 'set' needs STAGE=POLICY, like share=io-sets. $see" policy set
	fails 1 "sluice policy: the stage share is given twice." policy set share=wfq share=fifo
	[ "$("$SLUICE" status --json | jq -r .share)" = io-sets ]
	some_job j
	fails 1 "sluice policy: layer 'other' is not up. These are: 'default' for $DIR; choose one with --name." policy set --name other share=wfq
}

@test "a node that is stopped holds status up for a moment, and what to do is said" {
	"$SLUICE" down >/dev/null
	"$SLUICE" up --ionodes 2 "$DIR" >/dev/null
	stop "$(node_pid)"
	run -0 timeout 8 "$SLUICE" status # 2 s, not 10
	[ "$(sed -n 's/^\([01] .*[^ 0-9]\) *[0-9]*$/\1/p' <<<"$output" | tr -s ' ' | head -n 1)" = "0 silent" ]
	[[ "$output" == *$'\n'"I/O node 0 (pid $STOPPED) does not answer; its log is $SLUICE_RUNTIME/default/log"$'\n'"  'kill -CONT $STOPPED' resumes it if it was stopped; 'kill -KILL $STOPPED' ends it."* ]]
	# the one that is asked after it has answered meanwhile
	[ "$(timeout 8 "$SLUICE" status --json | jq -r '[.ionodes[].state] | join(" ")')" = "silent up" ]
	# nothing is printed: it ends while it waits for an answer
	run -0 timeout --preserve-status --signal=INT 1 "$SLUICE" status --watch
	[ "$output" = "" ]
	kill -CONT "$STOPPED"
	[ "$("$SLUICE" status --json | jq -r '[.ionodes[].state] | join(" ")')" = "up up" ]
}

@test "the only node is stopped: status says so" {
	stop "$(node_pid)"
	said="the node of layer 'default' (pid $STOPPED) is stopped: 'kill -CONT $STOPPED' resumes it, 'kill -KILL $STOPPED' ends it."
	fails 1 "sluice status: $said" status
	kill -CONT "$STOPPED"
	"$SLUICE" status
}
