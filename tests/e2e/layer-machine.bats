# SPDX-License-Identifier: Apache-2.0
# One bandwidth for a layer of several I/O nodes: capacity, shares, guarantees and grants hold over all of them,
# wherever jobs run. Ratios over some seconds, wide: a busy machine is no reason to fail.
bats_require_minimum_version 1.5.0
load live

setup() {
	live_setup
	compile live-load
}

teardown() {
	live_teardown
}

load_of() { # job, options of run
	local job=$1
	shift
	start_load "$job" "$@" -- "$BIN/live-load" -T 100 -t 1 -s 65536 "$DIR/$job"
}

# The rates of jobs in KB/s into RATE, over so many seconds.
rates() { # seconds, job…
	local seconds=$1 before after i
	shift
	read -r -a before <<<"$(served "$@")"
	sleep "$seconds"
	read -r -a after <<<"$(served "$@")"
	RATE=()
	for ((i = 1; i <= $#; i++)); do
		RATE+=($(((after[i] - before[i]) / (after[0] - before[0]))))
	done
	echo "$*: ${RATE[*]} KB/s"
}

busy() { # jobs that are in a phase of I/O
	[ "$(status '[.jobs[] | select(.in_io and .clients > 0)] | length')" = "$1" ]
}

# Each job at a node of its own.
apart() { # jobs
	[ "$(status '[.jobs[] | select(.clients > 0) | .ionodes[0]] | unique | length')" = "$1" ]
}

ends() { # all loads, and begin anew
	local i
	for i in "${!LOADS[@]}"; do
		end_load "$i"
	done
	LOADS=()
}

@test "a job alone has all of the capacity on one of four nodes" {
	"$SLUICE" up --ionodes 4 --capacity 40M "$DIR" >/dev/null
	load_of a
	until_true 10 busy 1
	sleep 0.3
	rates 3 a
	[ "${RATE[0]}" -gt 24000 ] && [ "${RATE[0]}" -lt 42000 ] # a quarter would be 10000
	[ "$(job a 'rate_bps | round')" = 40000000 ]
	# The nodes without work may draw next to nothing.
	[ "$(status '[.ionodes[] | select(.draw_bps < 1000000)] | length')" = 3 ]
	ends
}

@test "weights of 4 to 1 hold for jobs on different nodes, and all is used" {
	"$SLUICE" up --ionodes 4 --capacity 40M "$DIR" >/dev/null
	load_of a --weight 4
	load_of b --weight 1
	until_true 10 busy 2
	until_true 10 apart 2
	sleep 1
	rates 4 a b
	within 25 "${RATE[0]}" $((4 * RATE[1]))
	[ $((RATE[0] + RATE[1])) -gt 24000 ] && [ $((RATE[0] + RATE[1])) -lt 42500 ]
	# What one does not use any more the other has.
	end_load 0
	until_true 10 busy 1
	sleep 0.5
	rates 2 b
	[ "${RATE[0]}" -gt 20000 ]
}

@test "io-sets: 99 to 1 over three nodes, and one job of a set at a time" {
	"$SLUICE" up --ionodes 3 --capacity 40M --policy share=io-sets,max_exclusive_ms=4000 "$DIR" >/dev/null
	load_of often --period 10s
	load_of rare --period 1000s
	until_true 10 busy 2
	load_of later --period 1000s
	until_true 10 busy 3
	until_true 10 apart 3
	sleep 2
	rates 2 often rare later
	[ "${RATE[0]}" -gt 20000 ]
	[ "${RATE[0]}" -gt $((10 * (RATE[1] + RATE[2]))) ]
	# The set changes hands: each of the two has been the one that is served.
	holder() { [ "$(status "[.jobs[] | select(.period_s == 1000 and .rate_bps > 40000) | .job] | join(\" \")")" = "$1" ]; }
	until_true 10 holder rare
	until_true 10 holder later
	ends
}

@test "grants are rates: over two nodes, on one, and lent when they are not used" {
	"$SLUICE" up --ionodes 2 --capacity 40M --policy grant=set-10 "$DIR" >/dev/null
	load_of often --period 1s
	load_of rare --period 100s
	until_true 10 busy 2
	until_true 10 apart 2
	sleep 1
	rates 3 often rare
	[ "${RATE[0]}" -gt 20000 ] && [ "${RATE[0]}" -gt $((10 * RATE[1])) ]
	ends
	"$SLUICE" down >/dev/null
	# fcfs gives the first one 30, its max, and the second what is left, at the same node.
	"$SLUICE" up --ionodes 1 --capacity 40M --policy grant=fcfs "$DIR" >/dev/null
	load_of first --max 30M
	until_true 10 busy 1
	load_of second
	until_true 10 busy 2
	sleep 1
	rates 3 first second
	[ "${RATE[0]}" -gt $((2 * RATE[1])) ] && [ "${RATE[0]}" -lt 32000 ]
	[ "$(job first 'grant_bps | round')" = 30000000 ]
	# The first pauses, in its phase or not: the second has all.
	kill -STOP "${LOADS[0]}"
	sleep 0.5
	rates 2 second
	kill -CONT "${LOADS[0]}"
	[ "${RATE[0]}" -gt 20000 ]
}

@test "a min of 30 holds over three nodes beside a job of weight 100" {
	"$SLUICE" up --ionodes 3 --capacity 40M "$DIR" >/dev/null
	for i in 0 1 2; do
		SLURM_NODEID=$i start_load a --nodes 3 --min 30M -- "$BIN/live-load" -T 100 -t 1 -s 65536 "$DIR/a$i"
		SLURM_NODEID=$i start_load g --nodes 3 --weight 100 -- "$BIN/live-load" -T 100 -t 1 -s 65536 "$DIR/g$i"
	done
	until_true 10 busy 2
	sleep 1
	rates 3 a g
	[ "${RATE[0]}" -gt $((2 * RATE[1])) ] && [ "${RATE[0]}" -gt 18000 ]
	ends
}

@test "a node is killed: its part goes to the others, and nothing is lost" {
	"$SLUICE" up --ionodes 2 --capacity 40M "$DIR" >/dev/null
	start_load a -- "$BIN/live-load" -T 100 -t 1 -s 65536 -v "$DIR/a"
	start_load b -- "$BIN/live-load" -T 100 -t 1 -s 65536 -v "$DIR/b"
	until_true 10 busy 2
	until_true 10 apart 2
	# Not the first: programs look there for another when theirs is silent.
	kill -KILL "$(cat "$SLUICE_RUNTIME/default/pid-1")"
	# Both at the node that is left, which draws the whole.
	whole() { [ "$(status '[.ionodes[] | select(.state == "up").draw_bps] == [40000000]')" = true ]; }
	until_true 10 whole
	until_true 10 busy 2
	there() { [ "$(status '[.jobs[] | select(.clients == 1)] | length')" = 2 ]; }
	until_true 10 there
	sleep 1
	rates 2 a b
	[ $((RATE[0] + RATE[1])) -gt 20000 ] && [ $((RATE[0] + RATE[1])) -lt 42500 ]
	within 35 "${RATE[0]}" "${RATE[1]}"
	ends
}

@test "the controller is killed: nodes fail open, and a new one has it right again" {
	"$SLUICE" up --ionodes 4 --capacity 40M "$DIR" >/dev/null
	load_of a
	until_true 10 busy 1
	kill -KILL "$(cat "$SLUICE_RUNTIME/default/pid-controller")"
	sleep 1
	rates 2 a # under the last orders
	[ "${RATE[0]}" -gt 20000 ] && [ "${RATE[0]}" -lt 42000 ]
	# Another job, on a node that had been left next to nothing: it does not stay there.
	load_of b
	part() { [ "$("$SLUICE" status --json | jq '[.ionodes[].draw_bps] | min')" -ge 10000000 ]; }
	until_true 15 part
	"$SLUICE" up --revive >/dev/null
	until_true 10 busy 2
	sleep 1
	rates 3 a b
	[ $((RATE[0] + RATE[1])) -gt 20000 ] && [ $((RATE[0] + RATE[1])) -lt 43000 ]
	within 35 "${RATE[0]}" "${RATE[1]}"
	ends
}
