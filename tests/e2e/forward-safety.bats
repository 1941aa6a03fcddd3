# SPDX-License-Identifier: Apache-2.0
# The forward route keeps data right: fencing, appends, positions, signals, identity, stuck files.
bats_require_minimum_version 1.5.0
load node
load tcp

FORWARD=$BATS_FILE_TMPDIR/forward

# Two tests mostly wait, for a lease to end and for a turn: they run beside the others, and are looked at in the end.
setup_file() {
	$CC -std=c17 -D_GNU_SOURCE -O1 -pthread -o "$FORWARD" "$SOURCE_DIR/tests/e2e/programs/forward.c"
	for name in stopped_node killed_client; do
		mkdir "$BATS_FILE_TMPDIR/$name"
		beside $name >"$BATS_FILE_TMPDIR/$name/out" 2>&1 </dev/null &
		echo $! >"$BATS_FILE_TMPDIR/$name/pid"
	done
}

teardown_file() {
	for name in stopped_node killed_client; do
		kill "$(cat "$BATS_FILE_TMPDIR/$name/pid")" 2>/dev/null || true
	done
}

beside() { # function; bats waits for who has its descriptors
	(
		for fd in 3 4 5 6 7 8 9; do eval "exec $fd>&-"; done
		set -e
		BATS_TEST_TMPDIR=$BATS_FILE_TMPDIR/$1
		trap 'echo $? >"$BATS_TEST_TMPDIR/over"; teardown' EXIT
		setup
		"$1"
	)
}

result() { # function
	until_true 100 test -s "$BATS_FILE_TMPDIR/$1/over"
	cat "$BATS_FILE_TMPDIR/$1/out"
	[ "$(cat "$BATS_FILE_TMPDIR/$1/over")" -eq 0 ]
}

teardown() {
	node_teardown
	[ -z "${MOUNT:-}" ] || umount -l "$MOUNT" || true
	[ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || true
}

mount_hanging() { # a file system whose file a hangs while there is a file 'hang'
	[ "$(id -u)" -eq 0 ] || skip "only root can mount"
	[ -c /dev/fuse ] || skip "no FUSE here"
	MOUNT=$ROOT
	python3 "$SOURCE_DIR/tests/e2e/programs/equal-inodes.py" "$MOUNT" "$PWD/hang" 3>&- &
	SERVER=$!
	until_true 10 mountpoint -q "$MOUNT"
}

inside() { # so many requests are in the node
	[ "$("$ASK" "$SOCKET" status | jq .requests)" -eq "$1" ]
}

stopped_node() {
	tcp_start --capacity 20000
	SLUICE_FALLBACK=direct TIMEOUT=1 remote "$FORWARD" old-new root/file >out &
	PROGRAM=$!
	until_true 20 inside 1 # 'x'
	until_true 30 test -s root/file
	until_true 20 inside 1 # 'o', which waits for its turn
	kill -STOP "$NODE"
	wait $PROGRAM # goes on when the lease is over
	PROGRAM=
	[ "$(head -c 65536 root/file | tr -d n | wc -c)" -eq 0 ]
	# No sooner than the lease, nor much later.
	read -r _ ms <out
	[ "$ms" -ge 4000 ]
	kill -CONT "$NODE" 2>/dev/null || true # or it has been killed
	sleep 5			  # the time in which it would have written
	[ "$(head -c 65536 root/file | tr -d n | wc -c)" -eq 0 ]
}

killed_client() {
	tcp_start --capacity 10000 # so that there are 6 s in which it can be killed
	remote "$FORWARD" old-new root/file >out &
	PROGRAM=$!
	until_true 20 inside 1
	until_true 30 test -s root/file
	until_true 20 inside 1 # 'o'
	kill -9 "$(pgrep -P $PROGRAM || echo $PROGRAM)"
	wait $PROGRAM || true
	PROGRAM=
	until_true 20 inside 0
	sleep 8
	[ "$(head -c 65536 root/file | tr -d '\0' | wc -c)" -eq 0 ]
}

@test "appends are whole whatever their size, and so are many vectors" {
	tcp_start
	remote "$FORWARD" append root/a 1000000 4 20
	remote "$FORWARD" append root/b 100000 4 50
	remote "$FORWARD" vectors root/c 200
	remote "$FORWARD" vectors root/d 100
	forwarded "$FORWARD" append root/e 1000000 4 20
	forwarded "$FORWARD" vectors root/f 200
	node_stop
}

@test "vectors, flags, files cut by others, sparse and nameless files are as the kernel has them" {
	"$FORWARD" kinds root/plain >expected
	tcp_start
	remote "$FORWARD" kinds root/far >far
	diff expected far
	forwarded "$FORWARD" kinds root/near >near
	diff expected near
	[ "$(moved write)" -gt 8000 ]
	node_stop
}

@test "processes that share a position read each record once, and end at the end" {
	tcp_start
	for _ in 1 2 3; do
		remote "$FORWARD" shared root/a 3000
	done
	node_stop
}

@test "signals make no call fail and no append come twice" {
	tcp_start --capacity 3M
	remote "$FORWARD" signals root/a 4096 300
	remote "$FORWARD" signals root/b 100000 20
	forwarded "$FORWARD" signals root/c 4096 300
	[ "$(JOB=1 moved write)" -ge $((600 * 4096 + 2000000)) ]
	node_stop
}

@test "a handler runs long before a large write is through, and SIGTERM ends it" {
	tcp_start --capacity 4M
	remote "$FORWARD" handler root/a 8000000 >out
	read -r came all <out
	echo "handler after $came ms of $all"
	[ $((came * 2)) -lt "$all" ]
	remote "$FORWARD" handler root/a 100000000 >/dev/null &
	PROGRAM=$!
	until_true 20 inside 4
	before=$SECONDS
	program=$(pgrep -P "$PROGRAM" || echo "$PROGRAM")
	kill "$program"
	wait $PROGRAM || true
	PROGRAM=
	! kill -0 "$program" 2>/dev/null
	[ $((SECONDS - before)) -lt 10 ]
}

@test "two files with equal inode numbers are not mixed up" {
	[ "$(id -u)" -eq 0 ] || skip "only root can mount"
	[ -c /dev/fuse ] || skip "no FUSE here"
	MOUNT=$ROOT
	python3 "$SOURCE_DIR/tests/e2e/programs/equal-inodes.py" "$MOUNT" 3>&- &
	SERVER=$!
	until_true 10 mountpoint -q "$MOUNT"
	tcp_start --capacity 4M --order aioli
	forwarded "$FORWARD" two "$ROOT" 50
	[ "$(moved write)" -ge 409600 ]
}

@test "a file that hangs stops no other" {
	mount_hanging
	tcp_start --workers 2
	touch hang
	for i in 1 2 3 4 5; do # not next to each other: they would be merged
		TIMEOUT=60 remote dd if=/dev/zero of=root/a bs=64k count=1 seek=$((2 * i)) conv=notrunc status=none 3>&- &
		hung+=($!)
	done
	until_true 20 inside 5
	head -c 1000000 /dev/urandom >data
	for _ in 1 2 3 4; do
		remote timeout 60 dd if=data of=root/b bs=64k conv=notrunc status=none
		cmp data root/b
	done
	forwarded timeout 60 dd if=data of=root/b bs=64k conv=notrunc status=none
	inside 5 # they still hang
	until_true 20 grep -q 'not come back' node.log
	for pid in "${hung[@]}"; do kill -9 "$pid" $(pgrep -P "$pid") 2>/dev/null || true; done
}

@test "opens that hang at the node stop no other open" {
	mount_hanging
	tcp_start --workers 2
	# The program's own open() is over; the node opens the file for the first write.
	for i in 1 2 3 4 5 6; do
		TIMEOUT=60 remote python3 -c '
import os, sys, time
fd = os.open("root/a", os.O_RDWR)
open(sys.argv[1], "w").close()
while not os.path.exists("hang-open"):
    time.sleep(0.02)
os.pwrite(fd, bytes(4096), 0)' "ready$i" 3>&- &
		hung+=($!)
	done
	for i in 1 2 3 4 5 6; do until_true 20 test -e "ready$i"; done
	touch hang-open
	sleep 1
	head -c 1000000 /dev/urandom >data
	remote timeout 60 dd if=data of=root/b bs=64k conv=notrunc status=none
	cmp data root/b
	for pid in "${hung[@]}"; do kill -0 "$pid"; done # they still hang
	for pid in "${hung[@]}"; do kill -9 "$pid" $(pgrep -P "$pid") 2>/dev/null || true; done
}

@test "files with O_DIRECT that hang do not keep the window from others" {
	mount_hanging
	tcp_start --workers 2 --window 2
	head -c 65536 /dev/urandom >data
	touch hang
	for i in 1 2 3 4; do
		TIMEOUT=100 remote dd if=/dev/zero of=root/a bs=64k count=1 seek=$((2 * i)) conv=notrunc oflag=direct \
			status=none 3>&- &
		hung+=($!)
	done
	until_true 20 inside 4
	remote timeout 90 dd if=data of=root/b bs=64k conv=notrunc oflag=direct status=none
	cmp data root/b
	inside 4 # they still hang
	for pid in "${hung[@]}"; do kill -9 "$pid" $(pgrep -P "$pid") 2>/dev/null || true; done
}

@test "what a client asked for is not begun after it was killed" {
	result killed_client
}

@test "a node that was stopped does not write over what its client has written elsewhere since" {
	result stopped_node
}

@test "what comes while a modelled device is busy waits where it can be merged, with many workers too" {
	node_start --device-model bandwidth=1G,seek=1s --workers 8
	head -c 131072 /dev/zero >root/f
	for i in {0..7}; do
		forwarded dd if=/dev/zero of=root/f bs=16k seek="$i" count=1 conv=notrunc status=none &
		dd[i]=$!
	done
	wait "${dd[@]}"
	batches=$("$ASK" "$SOCKET" status | jq '[.jobs[].batches] | add')
	echo "$batches batches"
	[ "$(moved write)" -eq 131072 ]
	[ "$batches" -le 4 ]
	node_stop
}
