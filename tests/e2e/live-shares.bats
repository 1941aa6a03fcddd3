# SPDX-License-Identifier: Apache-2.0
# Who gets how much, live: real processes with 16 requests outstanding each, bytes as the node
# counted them between two looks at its status.
#
# The capacity is far below what memory gives, so that the node's clock sets the pace and not the
# machine. Should that be so busy that a figure is missed nevertheless, it is taken once more.
bats_require_minimum_version 1.5.0
load live

setup_file() {
	compile live-load
}

up() { # options of up
	"$SLUICE" up --charge calls "$@" "$DIR" >/dev/null
}

# A job that always has 16 requests of 128 KiB outstanding.
greedy() { # job, options of run
	local job=$1
	shift
	start_load "$job" "$@" -- "$BIN/live-load" -T 120 "$DIR/$job" >/dev/null
	until_true 10 flowing "$job"
}

flowing() { # job
	[ "$(job "$1" queued_requests)" -gt 0 ]
}

# Bytes per second of each job over a while, into RATES.
measure() { # seconds, job…
	local seconds=$1 before after i
	shift
	read -ra before <<<"$(served "$@")"
	sleep "$seconds"
	read -ra after <<<"$(served "$@")"
	RATES=()
	for ((i = 1; i <= $#; i++)); do
		RATES+=($(((after[i] - before[i]) * 1000 / (after[0] - before[0]))))
	done
	echo "# $*: ${RATES[*]} bytes/s over $((after[0] - before[0])) ms"
}

ratio() { # a, b
	awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / (b + 1) }'
}

# The check, on figures taken once more if they were off.
twice() { # measurement, check
	"$1"
	"$2" && return
	echo "# off; taken once more"
	"$1"
	"$2"
}

@test "io-sets: jobs of periods 1 s and 10 s share 10 to 1, within 5 %" {
	up --capacity 150M --policy share=io-sets
	greedy a --period 1
	greedy b --period 10
	[ "$(job a set)" = 0 ]
	[ "$(job b set)" = 1 ]
	take() { measure 4 a b; }
	check() { within 5 "$(ratio "${RATES[@]}")" 10 && within 5 $((RATES[0] + RATES[1])) 150000000; }
	twice take check
	# a policy that knows no sets, on the same running jobs
	"$SLUICE" policy set share=fifo
	take() { measure 2 a b; }
	check() { within 10 "$(ratio "${RATES[@]}")" 1; }
	twice take check
}

@test "wfq: weights 4 and 1 share 4 to 1, within 5 %" {
	up --capacity 150M --policy share=wfq
	greedy a --weight 4
	greedy b
	take() { measure 3 a b; }
	check() { within 5 "$(ratio "${RATES[@]}")" 4; }
	twice take check
}

@test "one process a job, one call of 4 KiB at a time: weights 4 and 1 share 4 to 1" {
	up --capacity 30M --policy share=wfq
	for job in a b; do
		# shellcheck disable=SC2046 # words, or none
		start_load $job $([ $job = b ] || echo --weight 4) -- \
			dd if=/dev/zero of="$DIR/$job" bs=4K count=10000000 conv=notrunc status=none
	done
	until_true 10 flowing b
	take() { measure 3 a b; }
	check() { within 8 "$(ratio "${RATES[@]}")" 4 && within 8 $((RATES[0] + RATES[1])) 30000000; }
	twice take check
}

@test "forwarded: weights 4 and 1 share 4 to 1, and a max of 20M holds" {
	up --capacity 150M --policy share=wfq
	export SLUICE_MODE=forward
	greedy a --weight 4
	greedy b
	greedy capped --max 20M --burst 4M
	take() { measure 4 a b capped; }
	check() { within 8 "$(ratio "${RATES[@]}")" 4 && within 8 "${RATES[2]}" 20000000; }
	twice take check
}

@test "a min of 60M and a max of 20M hold over 10 s under contention" {
	up --capacity 90M
	greedy floor --min 60M
	greedy greedy --weight 100
	# What it misses while the machine does something else, it may make up for: 40 ms.
	greedy capped --max 20M --burst 1M --weight 1000
	take() { measure 10 floor capped greedy; }
	check() {
		[ "${RATES[0]}" -ge 55000000 ] && within 5 "${RATES[1]}" 20000000 &&
			[ "${RATES[2]}" -gt 4000000 ]
	}
	twice take check
}

@test "sluice set: a new max is in force half a second later" {
	up --capacity 200M
	greedy a
	for rate in 20 80 10; do
		take() {
			"$SLUICE" set a max=150M
			sleep 0.2
			"$SLUICE" set a max=${rate}M
			sleep 0.5
			measure 2 a
		}
		check() { within 8 "${RATES[0]}" ${rate}000000; }
		twice take check
	done
	# and without one it gets what there is, as far as a busy machine lets it write
	take() {
		"$SLUICE" set a max=0
		sleep 0.1
		measure 1 a
	}
	check() { [ "${RATES[0]}" -gt 100000000 ] && [ "${RATES[0]}" -lt 210000000 ]; }
	twice take check
}

@test "forwarded without a capacity, on a disk with O_DIRECT, the window leaves it to io-sets who is served" {
	rm -rf "$DIR"
	DIR=$(mktemp -d "$BATS_TEST_TMPDIR/XXXXXX")
	dd if=/dev/zero of="$DIR/try" bs=4096 count=1 oflag=direct status=none 2>/dev/null ||
		skip "no O_DIRECT in this directory"
	up --policy share=fifo
	export SLUICE_MODE=forward
	start_load a --period 1 -- "$BIN/live-load" -d -T 120 "$DIR/a" >/dev/null
	start_load b --period 10 -- "$BIN/live-load" -d -T 120 "$DIR/b" >/dev/null
	until_true 10 eval '[ "$(job a requests)" -gt 1000 ] && [ "$(job b requests)" -gt 1000 ]'
	measure 2 a b
	fifo=$(ratio "${RATES[@]}")
	"$SLUICE" policy set share=io-sets
	sleep 1
	# What is outstanding is 32: a window that lets all of it through decides nothing.
	take() { measure 3 a b; }
	check() { awk -v a="$(ratio "${RATES[@]}")" -v b="$fifo" 'BEGIN { exit !(a > 1.25 * b) }'; }
	twice take check
	echo "# fifo $fifo, io-sets $(ratio "${RATES[@]}"), window $(status .window_batches)"
}
