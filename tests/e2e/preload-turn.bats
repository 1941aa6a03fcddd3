# SPDX-License-Identifier: Apache-2.0
# The turn route: programs make their own calls, when the node says so. What they are answered, and
# what is in their files, is what it is without the library; every byte and call is counted; and no
# call ever fails because of a node.
bats_require_minimum_version 1.5.0
load node

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	for program in adverse calls confined leases together; do
		$CC -std=c17 -D_GNU_SOURCE -w -O2 -o $program \
			"$SOURCE_DIR/tests/e2e/programs/$program.c" -lpthread
	done
}

teardown() {
	[ -z "${NODE:-}" ] || kill -CONT "$NODE" 2>/dev/null || true
	node_teardown
}

turned() {
	env -u SLUICE_MODE LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$SOCKET" \
		SLUICE_JOB_ID="$JOB" SLUICE_TIMEOUT="${TIMEOUT:-20}" "$@"
}

status() { "$ASK" "$SOCKET" status | jq "$1"; }

moved_is() { # read|write, bytes
	[ "$(moved "$1")" -eq "$2" ]
}

fine() { # program, case: in the background it is PROGRAM
	turned timeout 120 "$BATS_FILE_TMPDIR/$1" "$2" root >out 2>err || {
		cat out err
		return 1
	}
	grep -qx fine out
}

# ---- what is counted ----

@test "each call and byte of a job is counted, and none of them asks" {
	node_start
	turned dd if=/dev/zero of=root/x bs=4k count=100000 status=none
	[ "$(stat -c %s root/x)" -eq 409600000 ]
	until_true moved_is write 409600000
	[ "$(status '.jobs[0].requests')" -eq 100000 ]
	turned dd if=root/x of=/dev/null bs=64k status=none
	until_true moved_is read 409600000
	[ "$(status .decisions)" -lt 1000 ]
	node_stop
}

@test "streams, sendfile, copy_file_range and splice are counted once" {
	node_start
	head -c 100000 /dev/urandom >root/in
	turned python3 -c '
import os
i = os.open("root/in", os.O_RDONLY)
o = os.open("root/out", os.O_RDWR | os.O_CREAT)
assert os.copy_file_range(i, o, 10000, 0, 0) == 10000
assert os.sendfile(o, i, 0, 1 << 30) == 100000
r, w = os.pipe()
assert os.splice(i, w, 5000, offset_src=0) == 5000
'
	until_true moved_is write 110000
	until_true moved_is read 115000
	turned awk 'BEGIN { for (i = 0; i < 10000; i++) print "0123456789" > "root/lines" }'
	[ "$(stat -c %s root/lines)" -eq 110000 ]
	until_true moved_is write 220000
	node_stop
}

@test "files are found by relative paths, by openat(), as redirections, and from parents" {
	node_start
	mkdir root/sub
	(
		cd root/sub
		turned sh -c 'echo 123456789 >a; cd ..; echo 123456789 >b; cd /; echo 123456789'
	) >root/c
	until_true moved_is write 30
	turned python3 -c '
import os
d = os.open("root/sub", os.O_RDONLY | os.O_DIRECTORY)
f = os.open("e", os.O_WRONLY | os.O_CREAT, dir_fd=d)
os.write(f, b"x" * 70)
os.write(os.open("outside", os.O_WRONLY | os.O_CREAT), b"y" * 1000)'
	until_true moved_is write 100
	node_stop
}

@test "a process that opens, writes and closes files pays for no connection" {
	node_start
	turned strace -f -o trace sh -c 'for i in 1 2 3; do /bin/echo $i >root/$i; done'
	until_true moved_is write 6
	! grep -E 'socket\(|connect\(' trace
	[ "$(status '.jobs[0].clients')" = 0 ]
	node_stop
}

# ---- what programs see ----

@test "what calls answer, and what they leave in files, is as without the library" {
	node_start --capacity 200M
	for case in positions vectors appends errors large mapped direct limit locks; do
		rm -rf direct root/*
		mkdir direct
		"$BATS_FILE_TMPDIR/calls" $case direct >direct.out
		turned "$BATS_FILE_TMPDIR/calls" $case root >turned.out
		diff direct.out turned.out
		diff -r direct root
	done
	[ "$(moved write)" -gt 0 ]
	node_stop
}

@test "a write is whole: one call of the program's, whatever its size and its vectors" {
	node_start --capacity 200M
	turned strace -e trace=writev,pwrite64,write -o trace python3 -c '
import os
f = os.open("root/x", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
assert os.writev(f, [b"a" * 100] * 1000) == 100000
assert os.pwrite(f, bytes(20 << 20), 0) == 20 << 20'
	[ "$(grep -c 'writev(.* = 100000$' trace)" -eq 1 ]
	[ "$(grep -c 'pwrite64(.* = 20971520$' trace)" -eq 1 ]
	node_stop
}

@test "threads, forks, signals, cancellation, closes and spawns while calls wait for their turns" {
	node_start --capacity 60M
	for case in threads readers forks appends closes signals cancels sweeps spawns; do
		fine together $case
	done
	for case in shared shared-large read-and-write leavers handler-forks forks-beside; do
		fine adverse $case
	done
	[ "$(moved write)" -gt 0 ]
	node_stop
}

@test "threads in many sizes while the mode changes: all is right, and counted" {
	node_start
	turned timeout 120 "$BATS_FILE_TMPDIR/leases" mixed root >out 3>&- &
	PROGRAM=$!
	while kill -0 $PROGRAM 2>/dev/null; do
		"$ASK" "$SOCKET" "capacity 400M"
		sleep 0.1
		"$ASK" "$SOCKET" "capacity 0"
		sleep 0.1
	done
	wait $PROGRAM || { cat out; false; }
	read -r READ WRITTEN _ <out
	until_true moved_is read "$READ"
	until_true moved_is write "$WRITTEN"
	node_stop
}

@test "a process that is killed while it waits has written nothing more, and holds nothing" {
	node_start --capacity 100K
	# exec: so that it is dd itself that is killed, and not a shell around it
	(exec env -u SLUICE_MODE LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$SOCKET" SLUICE_JOB_ID=1 \
		sh -c 'exec 9>root/lock; flock 9; exec dd if=/dev/zero of=root/x bs=1M count=100 status=none' 3>&-) &
	PROGRAM=$!
	until_true test -s root/x
	kill -9 "$PROGRAM"
	wait "$PROGRAM" || true
	SIZE=$(stat -c %s root/x)
	flock -n root/lock true # its lock has gone with it
	[ $((SIZE % 1048576)) -eq 0 ]
	"$ASK" "$SOCKET" "capacity 0"
	sleep 0.3
	[ "$(stat -c %s root/x)" -eq "$SIZE" ]
	node_stop
}

@test "a process that is killed while a device model holds its call leaves nothing at the node" {
	node_start --device-model bandwidth=1M
	for _ in 1 2; do
		(exec env -u SLUICE_MODE LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$SOCKET" \
			SLUICE_JOB_ID=1 dd if=/dev/zero of=root/x bs=4M count=10 status=none 3>&-) &
		PROGRAM=$!
		until_true eval '[ "$(status .inflight_batches)" -eq 1 ]'
		kill -9 "$PROGRAM"
		wait "$PROGRAM" || true
		until_true eval '[ "$(status .inflight_batches)" -eq 0 ]'
	done
	sleep 5 # until the device model would have let it go
	[ "$(status .requests)" -eq 0 ]
	node_stop
}

@test "a number that means another file when the turn comes: nothing goes into that" {
	node_start
	cat >race.py <<-'END'
		import errno, os, subprocess, sys, threading, time

		case, ask, socket = sys.argv[1:]
		result = []

		def late():
		    try:
		        os.pwrite(fd, b"A" * 4096, 0) if case == "pwrite" else os.write(fd, b"A" * 4096)
		        result.append(0)
		    except OSError as e:
		        result.append(e.errno)

		os.write(os.open("root/debt", os.O_WRONLY | os.O_CREAT), bytes(64 << 20))
		fd = os.open("root/first", os.O_WRONLY | os.O_CREAT)
		t = threading.Thread(target=late)
		t.start()
		time.sleep(1)
		assert t.is_alive(), "it does not wait"
		if case == "dup2":
		    os.dup2(os.open("root/second", os.O_WRONLY | os.O_CREAT), fd)
		else:
		    os.close(fd)
		    assert os.open("root/second", os.O_WRONLY | os.O_CREAT) == fd
		subprocess.run([ask, socket, "capacity 0"], check=True)
		t.join()
		# A file that is replaced in one step, as a log may be: the line goes to the new one.
		assert result == [0 if case == "dup2" else errno.EBADF], result
		assert os.stat("root/second").st_size == (4096 if case == "dup2" else 0)
	END
	for JOB in pwrite write dup2; do
		rm -f root/second
		"$ASK" "$SOCKET" "capacity 1M"
		turned timeout 60 python3 race.py $JOB "$ASK" "$SOCKET"
	done
	node_stop
}

# ---- programs that are short of something ----

@test "seccomp, mlockall, no memory, no descriptors, descriptors swept away: as without Sluice" {
	for options in "" "--capacity 40M"; do
		# shellcheck disable=SC2086
		node_start $options
		for case in strict no-sockets no-openat no-futex locked no-memory no-descriptors swept; do
			run -0 turned timeout 60 "$BATS_FILE_TMPDIR/confined" $case root/x
			[ "${lines[0]}" = fine ]
			[ "$(stat -c %s root/x)" -eq 8192000 ]
		done
		node_stop
	done
}

@test "a handler that writes takes no more than 1 KiB more of its stack" {
	node_start
	"$BATS_FILE_TMPDIR/confined" stack direct 2>direct.depth
	turned "$BATS_FILE_TMPDIR/confined" stack root/x 2>depth
	echo "$(cat direct.depth) bytes without, $(cat depth) with"
	[ "$(cat depth)" -le $(($(cat direct.depth) + 1024)) ]
	node_stop
}

# ---- nodes that are not there ----

@test "without a node all goes directly" {
	turned timeout 20 dd if=/dev/zero of=root/x bs=4k count=10 status=none
	[ "$(stat -c %s root/x)" -eq 40960 ]
}

@test "a node that is killed, or stopped: programs wait once, say so once, and go on" {
	TIMEOUT=200ms
	for signal in KILL STOP; do
		node_start --capacity 1M
		turned python3 -c '
import os
f = os.open("root/x", os.O_WRONLY | os.O_CREAT)
for i in range(64):
    assert os.pwrite(f, bytes(1 << 20), i << 20) == 1 << 20' 2>err 3>&- &
		PROGRAM=$!
		await_write 1000000
		kill -$signal "$NODE"
		[ $signal = STOP ] || wait "$NODE" || true
		wait "$PROGRAM" || { cat err; false; }
		[ "$(stat -c %s root/x)" -eq 67108864 ]
		[ "$(grep -c 'does not answer' err)" -eq 1 ]
		[ "$(wc -l <err)" -eq 1 ]
		kill -CONT "$NODE" 2>/dev/null || true
		kill -KILL "$NODE" 2>/dev/null || true
		wait "$NODE" || true
		NODE=
		rm -rf root/x "$SOCKET"*
	done
}

@test "a node that ends in good order lets its programs go on at once, and the next one has them" {
	node_start --capacity 1M
	turned python3 -c '
import os, time
f = os.open("root/x", os.O_WRONLY | os.O_CREAT)
os.write(f, bytes(4 << 20))
while not os.path.exists("stop"):
    os.pwrite(f, bytes(4096), 0)
    time.sleep(0.01)' 2>err 3>&- &
	PROGRAM=$!
	await_write 1
	node_stop
	node_start
	await_write 100000
	touch stop
	wait "$PROGRAM"
	# It may have looked for a node while there was none.
	run -1 grep -v 'sluice: no I/O node at .*; going on without it' err
	node_stop
}

@test "fio finds what it wrote while its node is killed and started again" {
	TIMEOUT=200ms
	node_start --capacity 20M
	turned fio --name=v --directory=root --rw=randrw --bs=4k-256k --size=8m --numjobs=4 \
		--thread=1 --ioengine=psync --verify=crc32c --verify_fatal=1 --verify_state_save=0 \
		--output=fio.log 3>&- &
	PROGRAM=$!
	for _ in 1 2; do
		await_write 500000
		kill_9
		sleep 0.2
		node_start --capacity 20M
	done
	wait $PROGRAM || { cat fio.log; false; }
	run -1 grep -E 'verify:|err= *[1-9]' fio.log
	node_stop
}
