# SPDX-License-Identifier: Apache-2.0
# One bandwidth for a layer of several I/O nodes: capacity, shares, guarantees and grants hold over all of them,
# wherever jobs run. Ratios over some seconds, wide: a busy machine is no reason to fail. Tests share a layer where
# they can, since each costs a second.
bats_require_minimum_version 1.5.0
load live

setup() {
	live_setup
	compile live-load
}

teardown() {
	[ -z "${STOPPED:-}" ] || kill -CONT "$STOPPED" 2>/dev/null
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
	until_true 10 nobody
}

nobody() { # is there any more
	[ "$(status '[.jobs[] | select(.clients > 0)] | length')" = 0 ]
}

leads() { # the member that leads: controller or standby
	[ "$(status '.controller | .state + " " + .socket')" = "up $SLUICE_RUNTIME/default/$1.sock" ]
}

pid_of() { # member
	cat "$SLUICE_RUNTIME/default/pid-$1"
}

# Voluntary context switches of all threads of three nodes.
switches() {
	local node
	for node in 1 2 3; do
		cat /proc/"$(pid_of $node)"/task/*/status
	done | awk '/^voluntary/ { n += $2 } END { print n }'
}

# bats test_tags=plain
@test "four nodes: one job alone has all, weights hold, and controllers may die or stop" {
	"$SLUICE" up --ionodes 4 --capacity 40M --standby "$DIR" >/dev/null
	# A node without work wakes once a second: every two seconds to look, and to report.
	sleep 1
	before=$(switches)
	sleep 3
	woken=$((($(switches) - before) / 9))
	echo "idle nodes wake $woken times a second"
	[ $woken -le 2 ]
	load_of a --weight 4
	until_true 10 busy 1
	rates 1.5 a
	[ "${RATE[0]}" -gt 22000 ] && [ "${RATE[0]}" -lt 43000 ] # a quarter would be 10000
	[ "$(job a 'rate_bps | round')" = 40000000 ]
	# The nodes without work may draw next to nothing.
	[ "$(status '[.ionodes[] | select(.draw_bps < 1000000)] | length')" = 3 ]
	load_of b --weight 1
	until_true 10 busy 2
	until_true 10 apart 2
	rates 2 a b
	within 35 "${RATE[0]}" $((4 * RATE[1]))
	[ $((RATE[0] + RATE[1])) -gt 22000 ] && [ $((RATE[0] + RATE[1])) -lt 43000 ]
	# The first controller dies: the second one leads, and has it right.
	leads controller
	kill -KILL "$(pid_of controller)"
	until_true 5 leads standby
	until_true 5 busy 2
	rates 1.5 a b
	within 40 "${RATE[0]}" $((4 * RATE[1]))
	[ $((RATE[0] + RATE[1])) -gt 20000 ] && [ $((RATE[0] + RATE[1])) -lt 44000 ]
	# It comes back and waits; the second one is stopped: the first leads, with a higher term.
	"$SLUICE" up --revive >/dev/null
	leads standby
	term=$(status .controller.term)
	kill -STOP "$(pid_of standby)"
	until_true 10 leads controller
	[ "$(status .controller.term)" -gt "$term" ]
	kill -CONT "$(pid_of standby)"
	# One that continues does no harm, and waits.
	waits() { grep -q "is replaced by term" "$SLUICE_RUNTIME/default/log-standby"; }
	until_true 10 waits
	leads controller
	# What one does not use any more the other has.
	end_load 0
	until_true 10 busy 1
	sole() { [ "$(job b 'rate_bps | round')" = 40000000 ]; }
	until_true 10 sole
	# Both die: nodes fail open. A job on a node that had been left next to nothing does not stay there.
	kill -KILL "$(pid_of controller)" "$(pid_of standby)"
	part() { [ "$("$SLUICE" status --json | jq '[.ionodes[].draw_bps] | min')" -ge 10000000 ]; }
	until_true 20 part
	"$SLUICE" up --revive >/dev/null
	until_true 10 busy 1
	until_true 10 sole
	LOADS=("${LOADS[1]}")
	ends
}

@test "three nodes: io-sets give 99 to 1 and one job of a set at a time; a min holds beside a weight of 100" {
	"$SLUICE" up --ionodes 3 --capacity 40M --policy share=io-sets,max_exclusive_ms=2000 "$DIR" >/dev/null
	load_of often --period 10s
	load_of rare --period 1000s
	load_of later --period 1000s
	until_true 10 busy 3
	until_true 10 apart 3
	rates 2 often rare later
	[ "${RATE[0]}" -gt 20000 ]
	[ "${RATE[0]}" -gt $((8 * (RATE[1] + RATE[2]))) ]
	# The set changes hands: each of the two has been the one that is served.
	holder() { [ "$(status "[.jobs[] | select(.period_s == 1000 and .rate_bps > 40000) | .job] | join(\" \")")" = "$1" ]; }
	until_true 10 holder rare
	until_true 10 holder later
	ends
	"$SLUICE" policy set share=wfq >/dev/null
	for i in 0 1 2; do
		SLURM_NODEID=$i start_load a --nodes 3 --min 30M -- "$BIN/live-load" -T 100 -t 1 -s 65536 "$DIR/a$i"
		SLURM_NODEID=$i start_load g --nodes 3 --weight 100 -- "$BIN/live-load" -T 100 -t 1 -s 65536 "$DIR/g$i"
	done
	until_true 10 busy 2
	sleep 0.5
	rates 2 a g
	[ "${RATE[0]}" -gt $((2 * RATE[1])) ] && [ "${RATE[0]}" -gt 18000 ]
	ends
}

@test "two nodes: grants are rates, lent when they are not used; a node dies and nothing is lost" {
	"$SLUICE" up --ionodes 2 --capacity 40M --policy grant=set-10 "$DIR" >/dev/null
	load_of often --period 1s
	load_of rare --period 100s
	until_true 10 busy 2
	until_true 10 apart 2
	rates 2 often rare
	[ "${RATE[0]}" -gt 20000 ] && [ "${RATE[0]}" -gt $((8 * RATE[1])) ]
	ends
	"$SLUICE" policy set grant=none >/dev/null
	start_load a -- "$BIN/live-load" -T 100 -t 1 -s 65536 -v "$DIR/a"
	start_load b -- "$BIN/live-load" -T 100 -t 1 -s 65536 -v "$DIR/b"
	until_true 10 busy 2
	until_true 10 apart 2
	# Not the first: programs look there for another when theirs is silent.
	kill -KILL "$(pid_of 1)"
	# Both at the node that is left, which draws the whole.
	whole() { [ "$(status '[.ionodes[] | select(.state == "up").draw_bps] == [40000000]')" = true ]; }
	until_true 10 whole
	there() { [ "$(status '[.jobs[] | select(.clients == 1)] | length')" = 2 ]; }
	until_true 10 there
	rates 2 a b
	[ $((RATE[0] + RATE[1])) -gt 20000 ] && [ $((RATE[0] + RATE[1])) -lt 43000 ]
	within 40 "${RATE[0]}" "${RATE[1]}"
	ends
	"$SLUICE" down >/dev/null
	# fcfs gives the first one 30, its max, and the second what is left, at the same node.
	"$SLUICE" up --ionodes 1 --capacity 40M --policy grant=fcfs "$DIR" >/dev/null
	load_of first --max 30M
	until_true 10 busy 1
	load_of second
	until_true 10 busy 2
	rates 2 first second
	[ "${RATE[0]}" -gt $((2 * RATE[1])) ] && [ "${RATE[0]}" -lt 33000 ]
	[ "$(job first 'grant_bps | round')" = 30000000 ]
	# The first pauses, in its phase or not: the second has all.
	kill -STOP "${LOADS[0]}"
	sleep 0.5
	rates 1.5 second
	kill -CONT "${LOADS[0]}"
	[ "${RATE[0]}" -gt 20000 ]
}

# bats test_tags=plain
@test "two nodes, and the first is stopped: programs turn to the other, in their shares, also one that begins then" {
	"$SLUICE" up --ionodes 2 --capacity 40M "$DIR" >/dev/null
	load_of a --weight 4
	load_of b --weight 1
	until_true 10 busy 2
	until_true 10 apart 2
	STOPPED=$(cat "$SLUICE_RUNTIME/default/pid")
	kill -STOP "$STOPPED"
	at_second() { [ "$(status '[.jobs[] | select(.clients == 1 and .rate_bps > 1000000)] | length')" = "$1" ]; }
	until_true 30 at_second 2
	rates 3 a b
	within 35 "${RATE[0]}" $((4 * RATE[1]))
	[ $((RATE[0] + RATE[1])) -lt 43000 ]
	load_of c --weight 5 --timeout 1
	until_true 30 at_second 3
	rates 2 a b c
	within 40 "${RATE[2]}" $((RATE[0] + RATE[1]))
	[ $((RATE[0] + RATE[1] + RATE[2])) -lt 43000 ]
	kill -CONT "$STOPPED"
	continues() { [ "$(status '[.ionodes[] | select(.state == "up")] | length')" = 2 ]; }
	until_true 20 continues
	rates 2 a b c
	[ $((RATE[0] + RATE[1] + RATE[2])) -lt 44000 ]
	ends
}
