# SPDX-License-Identifier: Apache-2.0
# Observe mode and the emergency switch: what holds nobody, and what is measured meanwhile.
bats_require_minimum_version 1.5.0
load live

write_mib() { # job, MiB, file, options of sluice run ...
	local job=$1 mib=$2 file=$3
	shift 3
	"$SLUICE" run --job "$job" "$@" -- dd if=/dev/zero of="$DIR/$file" bs=1M count="$mib" status=none
}

@test "in observe mode nothing is held, and all is counted" {
	"$SLUICE" up --observe --capacity 1M "$DIR"
	[ "$(status .mode)" = observe ]
	# Under the capacity this takes a minute; under the max as well.
	timeout 30 "$SLUICE" run --job a -- dd if=/dev/zero of="$DIR/a" bs=1M count=60 status=none
	write_mib b 60 b --max 1M --timeout 1s &
	wait $!
	[ "$(job a write_bytes)" = $((60 << 20)) ]
	[ "$(job b write_bytes)" = $((60 << 20)) ]
	[ "$(job b asked_max_bps)" = 1000000 ]
	run -0 "$SLUICE" status
	[[ "$output" == *"observe: calls are measured but not held"* ]]
}

@test "the report of observe mode says who would have waited for whom" {
	compile live-load
	"$SLUICE" up --observe --capacity 20M "$DIR"
	start_load big -- "$BIN/live-load" -T 100 -t 2 "$DIR/big"
	start_load small -- "$BIN/live-load" -T 100 -t 2 "$DIR/small"
	sleep 3
	end_load 0
	end_load 1
	run -0 "$SLUICE" report
	echo "$output"
	[[ "$output" == *"Observed: no call was held"* ]]
	[[ "$output" == *"would have waited for that of the column"* ]]
	"$SLUICE" report --json | jq -e '.observed and ([.jobs[] | select(.waited_s > 0.5)] | length) == 2'
	"$SLUICE" down
	# An account of the other kind does not go into the same file.
	"$SLUICE" up --capacity 100M "$DIR"
	write_mib c 1 c
	"$SLUICE" down
	run -0 "$SLUICE" report
	[[ "$output" == *"Partly observed"* ]]
}

@test "what each policy would have done is simulated from the account" {
	account=$BATS_TEST_TMPDIR/account
	{
		echo "time,seconds,read,write,calls,would_held,would_waited,would_contended,first,last,job"
		for t in 2 12 22 32; do echo "17632600$((t + 10)),2.000,0,100000000,100,0.000,1.000,1.000,0.000,2.000,a"; done
		echo "1763260050,2.000,0,100000000,100,0.000,0.000,0.000,0.000,2.000,once"
	} >"$account"
	run -0 "$SLUICE" report --what-if "$account"
	echo "$output"
	[[ "$output" == *"Left out, with only one I/O phase: once."* ]]
	[[ "$output" == *"The 1 job with several I/O phases, on a file system of 50MB/s"* ]]
	[[ "$output" == *set-10* ]]
	"$SLUICE" report --what-if --json "$account" | jq -e '.policies | length > 3'
	sed -i '2,5d' "$account"
	run -1 --separate-stderr "$SLUICE" report --what-if "$account"
	[[ "$stderr" == *"needs a job with several I/O phases"* ]]
}

@test "open lets those go that wait, on all nodes; close holds again; a revived node is open, too" {
	"$SLUICE" up --ionodes 2 --capacity 200K "$DIR"
	write_mib a 40 a &
	first=$!
	write_mib b 40 b --max 100K &
	second=$!
	until_true 20 eval '[ "$(job b write_bytes)" != null ] && [ "$(job b write_bytes)" -gt 0 ]'
	kill -0 $first $second
	run -0 "$SLUICE" open
	[[ "$output" == *"all requests pass until 'sluice close'"* ]]
	# What is left would take minutes.
	timeout 40 tail --pid=$first -f /dev/null
	timeout 40 tail --pid=$second -f /dev/null
	wait $first
	wait $second
	status .mode | grep -qx open
	# Limits and policies that are set meanwhile are noted, and hold later.
	"$SLUICE" policy set share=round-robin admit=token-bucket
	status .policy.share | grep -qx round-robin
	pid=$(cat "$SLUICE_RUNTIME/default/pid-1")
	kill -KILL "$pid"
	until_true 10 eval '! kill -0 '"$pid"' 2>/dev/null'
	"$SLUICE" up --revive
	timeout 30 "$SLUICE" run --job c -- dd if=/dev/zero of="$DIR/c" bs=1M count=40 status=none
	"$SLUICE" close
	status .mode | grep -qx schedule
	status .share | grep -qx round-robin
	# A node that is stopped keeps no other from opening.
	pid=$(cat "$SLUICE_RUNTIME/default/pid")
	kill -STOP "$pid"
	"$SLUICE" open &
	switch=$!
	until_true 8 eval '"$SLUICE" status --ionode 1 --json | jq -r .mode | grep -qx open'
	kill -CONT "$pid"
	wait $switch
	"$SLUICE" close
	# 200 KB/s: far from done after a second.
	write_mib d 40 d &
	held=$!
	until_true 20 eval '[ "$(job d write_bytes)" != null ] && [ "$(job d write_bytes)" -gt 0 ]'
	sleep 1
	[ "$(job d write_bytes)" -lt $((20 << 20)) ]
	"$SLUICE" open
	wait $held
}

@test "wrong use of observe mode is refused" {
	run -2 --separate-stderr "$SLUICE" up --observe --trace "$BATS_TEST_TMPDIR/t" "$DIR"
	[[ "$stderr" == *"does not go with a trace"* ]]
	printf 'directory: %s\nmode: watch\n' "$DIR" >"$BATS_TEST_TMPDIR/sluice.yaml"
	run -2 --separate-stderr "$SLUICE" up --config "$BATS_TEST_TMPDIR/sluice.yaml"
	[[ "$stderr" == *"write schedule or observe"* ]]
	sed -i 's/watch/observe/' "$BATS_TEST_TMPDIR/sluice.yaml"
	"$SLUICE" up --config "$BATS_TEST_TMPDIR/sluice.yaml"
	[ "$(status .mode)" = observe ]
}
