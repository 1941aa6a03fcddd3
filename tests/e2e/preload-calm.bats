# SPDX-License-Identifier: Apache-2.0
# One job alone, which nothing limits: its programs have leases and hardly ask. What that must not
# change: every byte and call is counted, and another job is served as soon as it comes.
bats_require_minimum_version 1.5.0

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	for program in adverse leases together; do
		$CC -std=c17 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-result -O2 -o $program \
			"$SOURCE_DIR/tests/e2e/programs/$program.c" -lpthread
	done
}

setup() {
	load node
	cd "$BATS_TEST_TMPDIR"
	ROOT=$PWD/root SOCKET=$PWD/socket JOB=1
	mkdir root
}

teardown() {
	for pid in ${LOADS:-}; do
		kill -9 "$pid" 2>/dev/null || true
	done
	node_kill
}

status() { "$ASK" "$SOCKET" status | jq "$1"; }
is_calm() { [ "$(status .calm)" = true ]; }
not_calm() { [ "$(status .calm)" = false ]; }

until_true() { # command
	for _ in $(seq 500); do
		! "$@" || return 0
		sleep 0.02
	done
	return 1
}

# Writes a file of 4 MB again and again, until it is ended.
load_start() { # job
	(exec env LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$SOCKET" SLUICE_JOB_ID="$1" \
		python3 -c '
import os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
while True:
    for i in range(1000):
        os.pwrite(fd, bytes(4096), i * 4096)' "root/load-$1" 3>&-) &
	LOADS="${LOADS:-} $!"
	LOAD=$!
}

load_end() {
	kill -9 "$1"
	wait "$1" || true
}

@test "a job alone hardly asks, and each of its calls and bytes is counted" {
	node_start
	forwarded dd if=/dev/zero of=root/x bs=4k count=100000 status=none
	[ "$(stat -c %s root/x)" -eq 409600000 ]
	[ "$(moved write)" -eq 409600000 ]
	echo "$(status '.jobs[0].requests') requests, $(status .decisions) decisions"
	[ "$(status '.jobs[0].requests')" -eq 100000 ]
	# Those of the first 50 ms, and some that took long on a busy machine, are not under a lease.
	[ "$(status .decisions)" -lt 90000 ]
	forwarded dd if=root/x of=/dev/null bs=64k status=none
	[ "$(moved read)" -eq 409600000 ]
	node_stop
}

@test "--ask-always: the scheduler sees every call" {
	node_start --ask-always
	forwarded dd if=/dev/zero of=root/x bs=4k count=20000 status=none
	[ "$(status '.jobs[0].requests')" -eq 20000 ]
	[ "$(status .calm)" = false ]
	[ "$(status .decisions)" -ge 20000 ]
	node_stop
}

@test "another job ends the calm, and it comes back when that has gone" {
	node_start
	load_start a
	until_true is_calm
	load_start b
	until_true not_calm
	load_end "$LOAD"
	until_true is_calm
	node_stop
}

@test "a job that has a limit asks" {
	node_start
	export SLUICE_JOB_CONF=max=1000000000
	load_start a
	until_true eval '[ "$(status ".jobs[0].requests")" -gt 5000 ]'
	not_calm
	node_stop
}

@test "what is known of a job's pattern is the program's, and not that of its leases" {
	node_start
	forwarded dd if=/dev/zero of=root/x bs=4k count=100000 status=none
	status '.jobs[0].pattern'
	[ "$(status '.jobs[0].pattern | [.spatiality, .size, .files, .call_bytes] | join(" ")')" = \
		'"contiguous small 1 4096"' ]
	node_stop
}

@test "a limit that is set while leases are out holds at once, and the job goes on" {
	node_start
	load_start a
	load_start a
	until_true is_calm
	sleep 0.2
	"$ASK" "$SOCKET" "set a max=500K burst=64Ki"
	not_calm
	JOB=a
	before=$(moved write)
	sleep 2
	after=$(moved write)
	status '.jobs[0] | [.queued_bytes, .queued_requests, .inflight_bytes, .reason]'
	echo "$before, then $after bytes"
	# Neither free until its leases are used up, nor held until they are paid for.
	[ $((after - before)) -gt 500000 ]
	[ $((after - before)) -lt 3000000 ]
	"$ASK" "$SOCKET" "set a max=0"
	until_true is_calm
	"$ASK" "$SOCKET" "capacity 4M"
	not_calm
	node_stop
}

@test "a job has no leases because another is alone" {
	node_start
	load_start a
	until_true is_calm
	(exec env LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$SOCKET" SLUICE_JOB_ID=b \
		python3 -c '
import os, time
fd = os.open("root/b", os.O_WRONLY | os.O_CREAT)
os.write(fd, bytes(4096))
time.sleep(1) # calm again
os.write(fd, bytes(4096))
open("written", "w")
time.sleep(1000)' 3>&-) &
	LOADS="$LOADS $!"
	until_true test -e written
	status '.jobs[] | select(.job == "b") | [.requests, .inflight_bytes]'
	[ "$(status '.jobs[] | select(.job == "b") | .requests == 2 and .inflight_bytes == 0')" = true ]
	node_stop
}

@test "what a process has done that was stopped under a lease is counted when it goes on" {
	node_start
	cat >writer.py <<-'END'
		import os
		fd = os.open("root/x", os.O_WRONLY | os.O_CREAT)
		data = bytes(2 << 20)
		for i in range(4000):
		    os.pwrite(fd, data, i % 4 << 21)
	END
	(exec env LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$SOCKET" SLUICE_JOB_ID=1 \
		python3 writer.py 3>&-) &
	writer=$!
	LOADS=$writer
	await_write 10000000
	for _ in 1 2 3; do
		kill -STOP $writer
		load_start b
		sleep 0.7
		load_end "$LOAD"
		kill -CONT $writer
		sleep 0.02
	done
	wait $writer
	[ "$(moved write)" -eq $((4000 << 21)) ]
	node_stop
}

@test "what fio writes is what it reads while the calm comes and goes" {
	node_start
	forwarded fio --name=v --directory=root --rw=randrw --bs=1k-256k --size=16m --numjobs=4 --loops=3 \
		--thread=1 --ioengine=psync --verify=crc32c --verify_fatal=1 --verify_state_save=0 \
		--output=fio.log 3>&- &
	fio=$!
	for _ in 1 2 3 4; do
		sleep 0.2
		load_start b
		sleep 0.1
		load_end "$LOAD"
	done
	wait $fio || { cat fio.log; false; }
	run -1 grep -E 'verify:|err= *[1-9]' fio.log
	node_stop
}

@test "threads that share a position lose and double nothing while the calm comes and goes" {
	node_start
	for case in shared read-and-write; do
		forwarded timeout 60 "$BATS_FILE_TMPDIR/adverse" $case root >out 2>err 3>&- &
		PROGRAM=$!
		for _ in 1 2 3; do
			sleep 0.1
			load_start b
			sleep 0.1
			load_end "$LOAD"
		done
		wait $PROGRAM || { cat out err; false; }
		grep -qx fine out
	done
	node_stop
}

@test "threads in many sizes while the calm comes and goes: all is right, and counted" {
	node_start
	forwarded timeout 60 "$BATS_FILE_TMPDIR/leases" mixed root >out 3>&- &
	PROGRAM=$!
	while kill -0 $PROGRAM 2>/dev/null; do
		load_start 2
		sleep 0.1
		load_end "$LOAD"
		sleep 0.1
	done
	wait $PROGRAM || { cat out; false; }
	read -r READ WRITTEN _ <out
	[ "$(moved read)" -eq "$READ" ]
	[ "$(moved write)" -eq "$WRITTEN" ]
	node_stop
}

@test "threads whose calls want more slots than there are wait for none that they have" {
	node_start
	for _ in 1 2 3; do
		forwarded timeout 20 "$BATS_FILE_TMPDIR/leases" large root >out || { cat out; false; }
	done
	node_stop
}

@test "a child does not wait for what threads of its parent do under leases" {
	node_start
	forwarded timeout 60 "$BATS_FILE_TMPDIR/adverse" forks-beside root >out 3>&- || { cat out; false; }
	grep -qx fine out
	node_stop
}

@test "each of very many small calls is counted" {
	node_start
	forwarded dd if=/dev/zero of=root/x bs=3 count=200000 status=none
	[ "$(stat -c %s root/x)" -eq 600000 ]
	[ "$(moved write)" -eq 600000 ]
	[ "$(status '.jobs[0].requests')" -eq 200000 ]
	# A lease is at an end after 1023 calls, too.
	[ "$(status .decisions)" -gt 190 ]
	[ "$(status .decisions)" -lt 180000 ]
	node_stop
}

@test "reads and writes under one lease are told apart" {
	node_start
	forwarded python3 -c '
import os
fd = os.open("root/x", os.O_RDWR | os.O_CREAT)
for i in range(50000):
    os.pwrite(fd, bytes(1000), 0)
    assert len(os.pread(fd, 4096, 10)) == 990
assert os.pread(fd, 100, 5000) == b""'
	[ "$(moved write)" -eq 50000000 ]
	[ "$(moved read)" -eq 49500000 ]
	[ "$(status .decisions)" -lt 90000 ]
	node_stop
}

@test "threads that are cancelled at any instruction keep no lease from the others" {
	node_start
	mkfifo go
	forwarded timeout 60 "$BATS_FILE_TMPDIR/together" cancels-anywhere root >out <go 3>&- &
	PROGRAM=$!
	exec 4>go
	until_true grep -qx cancelled out
	BEFORE=$(status .decisions)
	exec 4>&-
	wait $PROGRAM || { cat out; false; }
	AFTER=$(status .decisions)
	echo "$((AFTER - BEFORE)) decisions for 20000 calls"
	[ $((AFTER - BEFORE)) -lt 10000 ]
	node_stop
}

@test "a node that is killed under leases: the program finishes with the next one" {
	head -c 50000000 /dev/urandom >data
	node_start
	forwarded dd if=data of=root/out bs=1000 status=none 3>&- &
	dd=$!
	await_write 5000000
	kill_9
	sleep 0.1
	node_start
	wait $dd
	cmp data root/out
	node_stop
}
