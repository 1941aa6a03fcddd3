# SPDX-License-Identifier: Apache-2.0
# Nodes that die, clients that die, too many of them, a full disk, peers that mean no good. Nodes
# make the calls of programs here: preload-turn.bats has the route in which programs do.
bats_require_minimum_version 1.5.0
load live

setup_file() {
	compile live-load
	compile live-append
	compile live-direct
	compile live-rounds
	compile live-slow -shared -fPIC
	compile live-many
	compile live-hostile -I"$SOURCE_DIR" -I"$SOURCE_DIR/include" "$SOURCE_DIR/wire/proto.c"
}

setup() {
	DAEMON=${SLUICED:-build/sluiced/sluiced}
	live_setup
	export SLUICE_MODE=forward
}

up() { # options of up
	"$SLUICE" up --charge calls "$@" "$DIR" >/dev/null
}

# Kill the node and start it again, some times, in the middle of what a process writes.
kill_rounds() { # rounds, pid of the program, options of up
	local rounds=$1 pid=$2 i
	shift 2
	for ((i = 0; i < rounds; i++)); do
		until_true 20 written_something
		kill -0 "$pid" # it is still at it
		kill_node
		sleep 0.1
		up "$@"
	done
}

written_something() {
	[ "$(status '[.jobs[].write_bytes] | add // 0')" -gt 500000 ]
}

descriptors() {
	find "/proc/$(node_pid)/fd" -mindepth 1 2>/dev/null | wc -l
}

segments() {
	grep -c sluice-segment "/proc/$(node_pid)/maps" || true
}

# Nothing is left of any client; counts are those from before.
all_freed() { # descriptors before
	[ "$(status '[.requests, .inflight_batches, ([.jobs[].clients] | add // 0)] | add')" -eq 0 ] &&
		[ "$(segments)" -eq 0 ] && [ "$(descriptors)" -le "$1" ]
}

memory_kib() {
	awk '/^VmRSS/ { print $2 }' "/proc/$(node_pid)/status"
}

@test "dd outlives its node three times, and the file is right" {
	head -c 40000001 /dev/urandom >"$BATS_TEST_TMPDIR/data"
	up --capacity 20M
	start_load d -- dd if="$BATS_TEST_TMPDIR/data" of="$DIR/out" bs=300K status=none
	kill_rounds 3 "${LOADS[0]}" --capacity 20M
	wait "${LOADS[0]}"
	cmp "$BATS_TEST_TMPDIR/data" "$DIR/out"
}

@test "fio outlives its node, and finds what it wrote" {
	up --capacity 20M
	start_load f -- fio --name=v --directory="$DIR" --rw=randrw --bs=4k-256k --size=4m --numjobs=4 \
		--ioengine=psync --verify=crc32c --verify_fatal=1 --verify_state_save=0 \
		--output="$BATS_TEST_TMPDIR/fio"
	kill_rounds 2 "${LOADS[0]}" --capacity 20M
	wait "${LOADS[0]}" || { cat "$BATS_TEST_TMPDIR/fio"; false; }
	run -1 grep -E 'verify:|err= *[1-9]' "$BATS_TEST_TMPDIR/fio"
}

@test "16 threads with small and large requests outlive their node" {
	up --capacity 40M
	start_load a -- "$BIN/live-load" -v -T 60 -s 1048576 "$DIR/a"
	start_load b -- "$BIN/live-load" -v -T 60 -s 4096 "$DIR/b"
	kill_rounds 3 "${LOADS[0]}" --capacity 40M
	until_true 20 written_something
	end_load 0
	end_load 1
}

@test "appends outlive a node that is brought down, each of them once" {
	up --capacity 4M
	start_load a -- "$BIN/live-append" -t 8 "$DIR/a" >"$BATS_TEST_TMPDIR/out"
	for _ in 1 2 3 4 5; do
		until_true 10 written_something
		kill -0 "${LOADS[0]}"
		"$SLUICE" down
		up --capacity 4M
	done
	until_true 10 written_something
	end_load 0
	[ "$(cut -d' ' -f2 "$BATS_TEST_TMPDIR/out")" -eq 0 ]
}

@test "appends that wait when the node is killed are sent again, each of them once" {
	up --capacity 4M
	start_load a -- "$BIN/live-append" -t 8 -e "$DIR/a" >"$BATS_TEST_TMPDIR/out"
	kill_rounds 3 "${LOADS[0]}" --capacity 4M
	until_true 10 written_something
	end_load 0
	# Some the node may have been at; those that waited, seven at a time or eight, are not lost.
	[ "$(cut -d' ' -f2 "$BATS_TEST_TMPDIR/out")" -le 6 ]
}

@test "with a full window and a limit nobody sleeps past its turn" {
	printf '#!/bin/sh\nexec "%s" "$@" --window 1\n' "$DAEMON" >"$BATS_TEST_TMPDIR/one"
	chmod +x "$BATS_TEST_TMPDIR/one"
	SLUICED=$BATS_TEST_TMPDIR/one up
	run timeout 20 "$SLUICE" run --job w --max 2M --burst 8K -- \
		"$BIN/live-rounds" -d -t 8 -r 50 "$DIR/w"
	[ "$status" -ne 77 ] || skip "no O_DIRECT in this directory"
	# It takes a second; two minutes if those who may go are not woken.
	[ "$status" -eq 0 ]
}

@test "requests that block are executed by all workers at once" {
	SLOW_PWRITE_MS=50 SLOW_MEAN=$BATS_TEST_TMPDIR/mean LD_PRELOAD=$BIN/live-slow up --workers 8
	"$SLUICE" run -- "$BIN/live-rounds" -t 8 -r 15 "$DIR/r"
	# Eight that begin together meet 1, 2, … 8: 4.5. One after the other: 1.
	awk '{ exit !($1 > 3) }' "$BATS_TEST_TMPDIR/mean"
}

# A device that writes 64 KiB/s for processes in a group that this makes, with cgroups of version 1.
slow_device() { # device
	echo "$(cat "/sys/block/$(basename "$1")/dev") 65536" >"$GROUP/blkio.throttle.write_bps_device"
}

@test "what a killed node had in flight does not land on newer data" {
	[ "$(id -u)" -eq 0 ] || skip "only root can mount"
	GROUP=/sys/fs/cgroup/blkio/sluice-$$
	mkdir "$GROUP" 2>/dev/null || skip "no blkio cgroup"
	truncate -s 100M "$BATS_TEST_TMPDIR/image"
	mkfs.ext4 -q -F "$BATS_TEST_TMPDIR/image"
	loop=$(losetup -f --show --direct-io=on "$BATS_TEST_TMPDIR/image") ||
		{ rmdir "$GROUP"; skip "no loop device"; }
	mount "$loop" "$DIR"
	(
		echo "$BASHPID" >"$GROUP/cgroup.procs" # the node's, for its life
		up
	)
	mkfifo "$BATS_TEST_TMPDIR/in"
	exec 8<>"$BATS_TEST_TMPDIR/in"
	start_load z -- "$BIN/live-direct" "$DIR/z" <"$BATS_TEST_TMPDIR/in" 8>&- >"$BATS_TEST_TMPDIR/out"
	failed=0
	until_true 20 grep -q ready "$BATS_TEST_TMPDIR/out" || failed=1
	slow_device "$loop"
	echo go >&8
	sleep 3
	kill_node
	up || failed=2
	wait "${LOADS[0]}" || failed=3
	exec 8>&-
	"$SLUICE" down
	umount "$DIR"
	losetup -d "$loop"
	rmdir "$GROUP"
	[ $failed -eq 0 ]
}

@test "a file system that closes slowly holds up nobody else" {
	SLOW_CLOSE_MS=1500 SLOW_BELOW=$DIR/ LD_PRELOAD=$BIN/live-slow up
	start_load s -- "$BIN/live-load" -t 16 -T 60 -s 4096 "$DIR/s"
	start_load v -- "$BIN/live-load" -v -t 2 -T 60 -s 4096 "$DIR/v"
	until_true 10 written_something
	kill -KILL "${LOADS[0]}"
	wait "${LOADS[0]}" || true
	# They need six seconds for its files.
	before=$(job v requests)
	timeout 4 "$SLUICE" run --job other -- dd if=/dev/zero of="$DIR/o" bs=4K count=100 conv=notrunc,fsync status=none
	[ "$(timeout 4 "$SLUICE" status --json | jq '[.jobs[] | select(.job == "v")][0].requests')" -gt $((before + 100)) ]
	[ "$(find "/proc/$(node_pid)/fd" -lname "$DIR/s.*" | wc -l)" -gt 0 ] # they are still at it
	end_load 1
}

@test "a client with more files than the node has descriptors keeps nobody out" {
	(
		ulimit -n 200
		up
	)
	mkfifo "$BATS_TEST_TMPDIR/in"
	exec 8<>"$BATS_TEST_TMPDIR/in"
	start_load g -- python3 -c '
import sys
files = [open(f"{sys.argv[1]}/g{i}", "wb", buffering=0) for i in range(400)]
for f in files:
    f.write(b"x" * 100)
print("there", flush=True)
sys.stdin.read()
for f in files:
    f.write(b"y" * 100)
' "$DIR" <"$BATS_TEST_TMPDIR/in" 8>&- >"$BATS_TEST_TMPDIR/out"
	until_true 20 grep -q there "$BATS_TEST_TMPDIR/out"
	[ "$(job g write_bytes)" -ge 5000 ] # some were for the node
	for i in 1 2 3; do
		timeout 10 "$SLUICE" run --job "other$i" -- \
			dd if=/dev/zero of="$DIR/other" bs=64K count=16 status=none
		[ "$(job "other$i" write_bytes)" -eq 1048576 ]
	done
	exec 8>&-
	wait "${LOADS[0]}"
	for i in {0..399}; do
		[ "$(stat -c %s "$DIR/g$i")" -eq 200 ]
	done
}

@test "a socket at which somebody is too busy to answer is not taken over" {
	python3 - "$DIR/sock" "$DIR/file" "$DAEMON" <<-'END'
		import socket, subprocess, sys
		path, file, daemon = sys.argv[1:]
		s = socket.socket(socket.AF_UNIX)
		s.bind(path)
		s.listen(0)
		waiting = []
		while True: # until there is no room for one more
		    c = socket.socket(socket.AF_UNIX)
		    c.setblocking(False)
		    try:
		        c.connect(path)
		    except BlockingIOError:
		        break
		    waiting.append(c)
		open(file, "w").write("mine")
		for at in path, file:
		    r = subprocess.run([daemon, "ionode", "--root", "/tmp", "--socket", at],
		                       capture_output=True, text=True, timeout=20)
		    assert r.returncode == 1 and "cannot listen" in r.stderr, r
		assert open(file).read() == "mine"
		s.accept()
	END
}

@test "clients that are stopped when it is their turn do not keep others out" {
	up
	for i in 1 2 3 4; do
		start_load s$i -- "$BIN/live-load" -v -t 4 -T 120 -s 1048576 "$DIR/s$i"
	done
	until_true 10 written_something
	for _ in 1 2 3 4 5; do
		kill -STOP "${LOADS[@]}"
		timeout 10 "$SLUICE" run --job other -- \
			dd if=/dev/zero of="$DIR/other" bs=1M count=20 status=none
		timeout 10 "$SLUICE" run --job other -- dd if=/dev/zero of="$DIR/other" bs=4K count=20 status=none
		kill -CONT "${LOADS[@]}"
		sleep 0.2
	done
	for i in 0 1 2 3; do
		end_load $i
	done
}

@test "a client that is killed leaves nothing at the node, which serves others" {
	up --capacity 30M
	before=$(descriptors)
	start_load v -- "$BIN/live-load" -v -t 2 -T 60 -s 65536 "$DIR/v"
	for size in 4096 1048576; do
		for _ in 1 2 3; do
			start_load k -- "$BIN/live-load" -T 60 -s $size "$DIR/k"
			victim=${LOADS[-1]}
			until_true 10 eval '[ "$(job k queued_requests)" -gt 0 ]'
			[ "$(segments)" -eq 2 ]
			kill -KILL "$victim"
			wait "$victim" || true
			until_true 5 eval '[ "$(job k clients)" = 0 ] && [ "$(segments)" -eq 1 ]'
			[ "$(job k queued_requests)" -eq 0 ]
		done
	done
	end_load 0 # it has found all its bytes, all the time
	until_true 5 all_freed "$before"
}

@test "1,000 clients at once: each gets what it wrote, and memory stays bounded" {
	[ "$(ulimit -Hn)" = unlimited ] || [ "$(ulimit -Hn)" -ge 4096 ] ||
		skip "no more than $(ulimit -Hn) descriptors"
	up
	before=$(descriptors) memory=$(memory_kib)
	mkfifo "$BATS_TEST_TMPDIR/in"
	exec 8<>"$BATS_TEST_TMPDIR/in" # opening one end would wait for the other
	start_load m -- timeout 60 "$BIN/live-many" 1000 "$DIR/m" <"$BATS_TEST_TMPDIR/in" 8>&- \
		>"$BATS_TEST_TMPDIR/out"
	until_true 50 grep -q . "$BATS_TEST_TMPDIR/out"
	[ "$(cat "$BATS_TEST_TMPDIR/out")" = "all there" ]
	[ "$(job m clients)" -eq 1000 ]
	[ "$(segments)" -eq 1000 ]
	# A client may cost some pages and its structures, not its whole segment of 4 MiB.
	[ $(($(memory_kib) - memory)) -lt $((1000 * 128)) ]
	"$SLUICE" run --job other -- dd if=/dev/zero of="$DIR/o" bs=64K count=16 status=none
	[ "$(job other write_bytes)" -eq 1048576 ]
	exec 8>&-
	wait "${LOADS[0]}"
	until_true 20 all_freed "$before"
	[ $(($(memory_kib) - memory)) -lt 65536 ]
}

@test "a full disk is what it is without a node" {
	[ "$(id -u)" -eq 0 ] || skip "only root can mount"
	# SLUICE must not see the mount disappear: it goes with this shell's namespace.
	cat >"$BATS_TEST_TMPDIR/full" <<-'END'
		set -eu
		mount -t tmpfs -o size=3M none "$1"
		try() { # name, then what runs dd
			name=$1
			shift
			status=0
			"$@" dd if=/dev/zero of="$name" bs=200000 count=40 2>"$TMP/$(basename "$name").err" ||
				status=$?
			echo "$status $(stat -c %s "$name") $(grep -c 'No space left on device' "$TMP/$(basename "$name").err")"
			rm "$name"
		}
		"$SLUICE" up "$1" >/dev/null
		try "$1/direct"
		try "$1/layer" "$SLUICE" run --job full --
		echo "$("$SLUICE" status --json | jq '[.jobs[] | select(.job == "full").write_bytes > 2000000] | all')"
		"$SLUICE" run -- sh -c 'echo there is room again >"$0/x"; cat "$0/x"' "$1"
		"$SLUICE" down >/dev/null
	END
	export SLUICE
	TMP=$BATS_TEST_TMPDIR run -0 unshare --mount sh "$BATS_TEST_TMPDIR/full" "$DIR"
	echo "$output"
	[[ "${lines[0]}" =~ ^1\ [0-9]+\ 1$ ]]
	[ "${lines[1]}" = "${lines[0]}" ]
	[ "${lines[2]}" = true ]
	[ "${lines[3]}" = "there is room again" ]
}

@test "a hostile peer is refused and logged, and nobody else is disturbed" {
	up
	before=$(descriptors) memory=$(memory_kib) pid=$(node_pid) log=$SLUICE_RUNTIME/default/log
	start_load v -- "$BIN/live-load" -v -t 4 -T 60 -s 65536 "$DIR/v"
	hostile() {
		timeout 30 "$BIN/live-hostile" "$1" "$SLUICE_RUNTIME/default/node.sock" "$DIR/h"
		[ "$(node_pid)" -eq "$pid" ]
	}
	hostile random
	[ "$(grep -c 'warn peer refused: Protocol error' "$log")" -ge 100 ]
	hostile truncated
	hostile oversized
	grep -q 'warn peer refused: Message too long' "$log"
	hostile replayed
	grep -q 'warn client=.* hung up on: Protocol error' "$log"
	hostile descriptors
	hostile flood
	[ $(($(memory_kib) - memory)) -lt 16384 ]
	hostile garbage
	# Those who share the node with this one lose turns to it, but not all of them.
	served=$(job v requests)
	"$SLUICE" run --job h --mode turn -- sh -c 'echo >"$0/h"' "$DIR" # so that it has a segment
	timeout 30 "$BIN/live-hostile" turns "$SLUICE_RUNTIME/default/node.sock" h
	[ "$(node_pid)" -eq "$pid" ]
	[ "$(job v requests)" -gt $((served + 100)) ]
	end_load 0 # its bytes were right all the time
	kill -0 "$pid"
	until_true 5 all_freed "$before"
	[ $(($(memory_kib) - memory)) -lt 65536 ]
	"$SLUICE" run -- sh -c 'echo still there >"$0/x"' "$DIR"
	[ "$(cat "$DIR/x")" = "still there" ]
}

@test "another user cannot connect, not even where the socket can be reached" {
	[ "$(id -u)" -eq 0 ] || skip "only root can become another user"
	up
	cp "$BIN/live-hostile" "$DIR/try"
	chmod 755 "$DIR" "$DIR/try"
	socket=$SLUICE_RUNTIME/default/node.sock
	as_nobody() { setpriv --reuid 65534 --regid 65534 --clear-groups "$@"; }
	run -1 as_nobody "$DIR/try" truncated "$socket" none
	[ "$output" = "live-hostile: no node" ]
	run -1 grep 'uid is not' "$SLUICE_RUNTIME/default/log"
	chmod 711 "$SLUICE_RUNTIME" "$SLUICE_RUNTIME/default"
	chmod 777 "$socket"
	run -1 as_nobody "$DIR/try" descriptors "$socket" /dev/null
	chmod 700 "$SLUICE_RUNTIME" "$SLUICE_RUNTIME/default"
	[ "$output" = "live-hostile: no welcome" ]
	grep -q "warn peer refused: uid is not the node's" "$SLUICE_RUNTIME/default/log"
	[ "$(status '.jobs | length')" -eq 0 ]
}

@test "a node that does not come back is EIO after the timeout, and later calls do not wait again" {
	up --capacity 10M
	head -c 20000000 /dev/urandom >"$BATS_TEST_TMPDIR/data"
	start_load e --timeout 1 -- dd if="$BATS_TEST_TMPDIR/data" of="$DIR/out" bs=100K \
		2>"$BATS_TEST_TMPDIR/err"
	until_true 10 written_something
	kill_node
	begin=$SECONDS
	failed=0
	wait "${LOADS[0]}" || failed=$?
	[ $failed -eq 1 ]
	[ $((SECONDS - begin)) -le 4 ]
	grep -q "error writing .*: Input/output error" "$BATS_TEST_TMPDIR/err"
	[ "$(grep -c "sluice: no I/O node at .* (waited [0-9]* s; 'sluice up --revive' starts it again); I/O fails" "$BATS_TEST_TMPDIR/err")" -eq 1 ]
	# what was written is a prefix of what was to be
	cmp -n "$(stat -c %s "$DIR/out")" "$BATS_TEST_TMPDIR/data" "$DIR/out"
}

@test "with --fallback direct it goes on without, and says so once" {
	up --capacity 10M
	head -c 6000000 /dev/urandom >"$BATS_TEST_TMPDIR/data"
	start_load d --timeout 1 --fallback direct -- dd if="$BATS_TEST_TMPDIR/data" of="$DIR/out" bs=10K \
		2>"$BATS_TEST_TMPDIR/err"
	until_true 10 written_something
	kill_node
	wait "${LOADS[0]}"
	cmp "$BATS_TEST_TMPDIR/data" "$DIR/out"
	[ "$(grep -c "sluice: no I/O node at .* (waited [0-9]* s; 'sluice up --revive' starts it again); going on without" "$BATS_TEST_TMPDIR/err")" -eq 1 ]
}
