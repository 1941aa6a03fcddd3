# SPDX-License-Identifier: Apache-2.0
# Gate mode, when things go wrong: nodes that die while their clients hold leases, threads that share
# descriptors, forks, numbers that change hands while a call waits for its turn.
bats_require_minimum_version 1.5.0

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	$CC -std=c17 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-result -O2 -o adverse \
		"$SOURCE_DIR/tests/e2e/programs/adverse.c" -lpthread
	$CC -std=c17 -D_GNU_SOURCE -w -O2 -o together "$SOURCE_DIR/tests/e2e/programs/together.c" \
		-lpthread
	$CC -std=c17 -D_GNU_SOURCE -Wall -Wextra -O2 -o leases \
		"$SOURCE_DIR/tests/e2e/programs/leases.c" -lpthread
}

setup() {
	load node
	cd "$BATS_TEST_TMPDIR"
	ROOT=$PWD/root SOCKET=$PWD/socket JOB=1
	mkdir root
	: >out
	export SLUICE_MODE=gate
}

teardown() {
	[ -z "${OTHER:-}" ] || kill -9 "$OTHER" 2>/dev/null || true
	node_kill
}

adverse() {
	forwarded timeout 60 "$BATS_FILE_TMPDIR/adverse" "$1" root >out 2>err || {
		cat out err
		return 1
	}
	grep -qx fine out
}

start_adverse() { # case, line to wait for
	adverse "$1" <&0 3>&- &
	PROGRAM=$!
	for _ in $(seq 500); do
		! grep -q "$2" out || return 0
		sleep 0.02
	done
	return 1
}

# Something else that wants turns, so that leases are taken back.
start_other() {
	# exec: so that it is dd itself that is ended below, and not a shell around it
	(exec env LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$SOCKET" SLUICE_JOB_ID=2 \
		${SLUICE_MODE:+SLUICE_MODE="$SLUICE_MODE"} \
		dd if=/dev/zero of=root/busy bs=64k count=1000000 status=none 3>&-) &
	OTHER=$!
}

end_other() {
	kill -9 "$OTHER"
	wait "$OTHER" || true
	OTHER=
	# The node has noticed, too.
	for _ in $(seq 100); do
		[ "$("$ASK" "$SOCKET" status | jq '[.jobs[] | select(.job == "2").clients] | add // 0')" = 0 ] && return
		sleep 0.05
	done
	return 1
}

fio_verifies() {
	forwarded fio --name=v --directory=root --rw=randrw --bs=4k-256k --size=8m --numjobs=4 \
		--thread=1 --ioengine=psync --verify=crc32c --verify_fatal=1 --verify_state_save=0 \
		--output=fio.log
}

@test "fio finds what it wrote when its node is killed and started again" {
	node_start --capacity 20M
	fio_verifies 3>&- &
	fio=$!
	for _ in 1 2; do
		await_write 500000
		kill -0 $fio # it is still at it
		kill_9
		sleep 0.2
		node_start --capacity 20M
	done
	wait $fio || { cat fio.log; false; }
	[ "$(moved write)" -gt 0 ]
	run -1 grep -E 'verify:|err= *[1-9]' fio.log
	node_stop
}

@test "fio finds what it wrote when it goes on without its node" {
	TIMEOUT=0.2s
	export SLUICE_FALLBACK=direct SLUICE_LOG=$PWD/log
	node_start --capacity 20M
	fio_verifies 3>&- &
	fio=$!
	await_write 500000
	kill_9
	wait $fio || { cat fio.log; false; }
	run -1 grep -E 'verify:|err= *[1-9]' fio.log
	[ "$(grep -c 'going on without' log)" -ge 1 ]
}

@test "16 threads share a descriptor, and a lease that is taken back all the time" {
	node_start --capacity 40M
	start_other
	adverse shared
	end_other
	[ "$(moved write)" -gt 0 ]
	node_stop
}

@test "16 threads share a descriptor and lose their node" {
	TIMEOUT=0.2s
	export SLUICE_FALLBACK=direct
	node_start --capacity 4M
	adverse shared 3>&- &
	PROGRAM=$!
	await_write 1000000
	kill_9
	wait $PROGRAM
	unset SLUICE_FALLBACK
	TIMEOUT=20
	node_start --capacity 4M
	adverse shared 3>&- &
	PROGRAM=$!
	await_write 1000000
	kill_9
	node_start --capacity 20M
	wait $PROGRAM
	node_stop
}

@test "calls that are larger than a lease are whole" {
	node_start
	start_other
	adverse shared-large
	end_other
	node_stop
}

@test "no call at the position comes between the steps of one that is larger than a lease" {
	node_start
	run -0 forwarded timeout 60 "$BATS_FILE_TMPDIR/leases" between root
	[ "${lines[1]}" = fine ]
	node_stop
}

@test "threads in many sizes under leases that are taken back: all is right, and counted" {
	node_start
	start_other
	run -0 forwarded timeout 60 "$BATS_FILE_TMPDIR/leases" mixed root
	end_other
	read -r READ WRITTEN CALLS <<<"${lines[0]}"
	[ "$(moved read)" -eq "$READ" ]
	[ "$(moved write)" -eq "$WRITTEN" ]
	[ "$("$ASK" "$SOCKET" status | jq '.jobs[] | select(.job == "1").requests')" -eq "$CALLS" ]
	node_stop
}

@test "small calls are charged for the bytes they move, though a lease has an end of calls" {
	node_start --capacity 4M
	# 2 MB take half a second. Leases of 4 MiB for 1024 calls of 100 bytes would take 14 s.
	forwarded timeout 7 dd if=/dev/zero of=root/x bs=100 count=20000 status=none
	[ "$(moved write)" -eq 2000000 ]
	node_stop
}

@test "a reader at the end of a file leaves no gap for the writer beside it" {
	node_start
	adverse read-and-write
	node_stop
}

@test "parents and children, threads cancelled, handlers, descriptors replaced and closed" {
	node_start
	start_other
	for case in threads readers forks appends closes signals cancels sweeps spawns; do
		run -0 --separate-stderr forwarded timeout 60 "$BATS_FILE_TMPDIR/together" $case root
		[ "$output" = fine ]
	done
	end_other
	node_stop
}

@test "a handler that forks while the parent holds a lease" {
	node_start
	adverse handler-forks
	start_other
	adverse handler-forks
	end_other
	node_stop
}

@test "a handler that forks with _Fork(): the child leaves no lease of its parent's" {
	node_start
	mkfifo go
	forwarded timeout 60 "$BATS_FILE_TMPDIR/leases" forks root >out <go 3>&- &
	PROGRAM=$!
	exec 4>go
	for _ in $(seq 1500); do
		! grep -qx forked out || break
		sleep 0.02
	done
	BEFORE=$("$ASK" "$SOCKET" status | jq .decisions)
	exec 4>&-
	wait $PROGRAM || { cat out; false; }
	AFTER=$("$ASK" "$SOCKET" status | jq .decisions)
	echo "$((AFTER - BEFORE)) decisions for 20000 calls"
	[ $((AFTER - BEFORE)) -lt 10000 ]
	node_stop
}

@test "a number that means another file when the turn comes: nothing goes into that" {
	node_start --capacity 1M
	start_adverse replaced-alone replaced
	wait "$PROGRAM"
	: >out
	start_adverse replaced-here replaced
	kill_9
	node_start
	wait "$PROGRAM"
	node_stop
	TIMEOUT=0.2s
	export SLUICE_FALLBACK=direct
	: >out
	node_start --capacity 1M
	start_adverse replaced-idle replaced
	kill_9
	wait "$PROGRAM"
}

@test "a program with an interval timer notices that its node has died" {
	node_start --capacity 4M
	adverse timer 3>&- &
	PROGRAM=$!
	await_write 1000000
	kill_9
	sleep 0.5
	node_start
	wait "$PROGRAM"
	node_stop
}

@test "handlers that leave by siglongjmp() do not keep the others waiting" {
	node_start --capacity 40M
	adverse leavers
	node_stop
}
