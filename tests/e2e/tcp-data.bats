# SPDX-License-Identifier: Apache-2.0
# Data over TCP: programs, restarts of the node, fsync, appends, many connections.
bats_require_minimum_version 1.5.0
load node
load tcp

setup() {
	node_setup
	head -c 5000011 /dev/urandom >data
}

teardown() {
	[ -z "${COPROC_PID:-}" ] || kill "$COPROC_PID" 2>/dev/null || true
	node_kill
}

restart() {
	kill -9 "$NODE"
	wait "$NODE" || true
	tcp_start "$@"
}

# programs/tcp-sync.py as a coprocess; say LINE WANTED
talk() {
	coproc remote python3 "$SOURCE_DIR/tests/e2e/programs/tcp-sync.py" root/file
}
say() {
	local got
	echo "$1" >&"${COPROC[1]}"
	read -r -t 30 got <&"${COPROC[0]}"
	[ "$got" = "$2" ] || {
		echo "$1: $got, not $2"
		return 1
	}
}

@test "programs write and read through the node, byte by byte" {
	tcp_start
	remote dd if=data of=root/a bs=7k status=none
	cmp data root/a
	[ "$(moved write)" -eq 5000011 ]
	remote dd if=root/a of=root/b bs=1M status=none conv=fsync
	cmp data root/b
	[ "$(moved read)" -eq 5000011 ]
	mkdir root/deep
	remote cp root/b "root/deep/with space"
	cmp data "root/deep/with space"
	remote tar -C root -cf root/t.tar deep a
	tar -C root -df root/t.tar
	node_stop
}

@test "reads end at the end of the file, holes are zeros, offsets go beyond 4 GiB" {
	tcp_start
	remote dd if=data of=root/sparse bs=64k oflag=seek_bytes seek=5G count=2 status=none
	[ "$(stat -c %s root/sparse)" -eq $((5 * 1024 ** 3 + 131072)) ]
	remote dd if=root/sparse bs=100k iflag=skip_bytes skip=$((5 * 1024 ** 3 - 1000)) status=none |
		cmp - <(head -c 1000 /dev/zero && head -c 131072 data)
	node_stop
}

@test "fio verifies what it wrote, with O_DIRECT and without" {
	tcp_start
	for direct in 0 1; do
		remote fio --name=tcp --directory=root --size=4M --bs=4k-256k --rw=randrw --numjobs=4 \
			--ioengine=psync --verify=crc32c --direct=$direct --output=fio.log \
			--minimal || { cat fio.log; return 1; }
	done
	[ "$(moved write)" -gt 8000000 ]
	node_stop
}

@test "the node is killed and started again under a program that writes: the file is right" {
	tcp_start --capacity 4M
	remote dd if=data of=root/out bs=300k status=none &
	dd=$!
	for _ in 1 2; do
		await_write 500000
		restart --capacity 4M
	done
	wait $dd
	cmp data root/out
	node_stop
}

@test "the node is stopped and started again: what it has taken is answered" {
	tcp_start --capacity 4M
	remote dd if=data of=root/out bs=300k status=none &
	dd=$!
	await_write 500000
	node_stop
	tcp_start --capacity 4M
	wait $dd
	cmp data root/out
	node_stop
}

@test "fsync fails once if the node that had unsynced data has lost its life" {
	tcp_start
	talk
	say "write 1000" 1000
	say fsync 0
	restart
	say fsync 0 # nothing was unsynced
	say "write 300000" 300000
	restart
	say fsync EIO
	say fsync 0
	say "write 1000" 1000
	restart
	say "write 1000" 1000 # taken by the new one
	say fdatasync EIO
	say "write 1000" 1000
	say fdatasync 0
}

@test "fsync through a duplicate, or after F_SETFL, knows what was written before" {
	tcp_start
	talk
	say "write 1000" 1000
	say dup 0
	restart
	say fsync EIO
	say "write 1000" 1000
	say fcntl 0
	restart
	say fsync EIO
	say fsync 0
}

@test "syncfs fails once, too, and takes nothing from what fsync says" {
	tcp_start
	talk
	say "write 1000" 1000
	say syncfs 0
	restart
	say fsync 0 # nothing was unsynced
	say "write 1000" 1000
	restart
	say syncfs EIO
	say syncfs 0
	say fsync EIO
	say "write 1000" 1000
	say sync 0
	restart
	say fsync 0
}

@test "fsync and syncfs reach the node's file system" {
	tcp_start
	timeout 20 strace -f -o trace -e trace=fsync,fdatasync,syncfs -p "$NODE" &
	strace=$!
	for _ in $(seq 100); do
		grep -q TracerPid:.[1-9] "/proc/$NODE/status" && break
		sleep 0.05
	done
	talk
	say "write 1000" 1000
	say fsync 0
	say fdatasync 0
	say syncfs 0
	kill -INT $strace
	wait $strace || true
	grep -q 'fsync(.*= 0' trace
	grep -q 'fdatasync(.*= 0' trace
	grep -q 'syncfs(.*= 0' trace
}

@test "appends go to the end, and the position follows" {
	tcp_start
	talk
	say "append 1000" 1000
	say tell 1000
	say "write 5000" 5000
	say "append 10" 10
	say tell 5010
	[ "$(stat -c %s root/file)" -eq 5010 ]
	[ "$(moved write)" -eq 6010 ]
	say "append 200000" 200000 # in one piece, by the kernel
	[ "$(stat -c %s root/file)" -eq 205010 ]
}

@test "an append whose outcome is unknown is EIO; the next one is not" {
	tcp_start --capacity 50000
	talk
	say "append 100000" 100000
	echo "append 1000" >&"${COPROC[1]}"
	for _ in $(seq 500); do # until the node has it
		[ "$("$ASK" "$SOCKET" status | jq .requests)" -eq 1 ] && break
		sleep 0.02
	done
	restart
	read -r -t 30 got <&"${COPROC[0]}"
	[ "$got" = EIO ]
	say "append 500" 500
}

@test "a node that is stopped and started again makes no append fail, and none twice" {
	tcp_start
	: >root/log
	for i in 1 2 3 4; do
		remote timeout 200 python3 -c '
import os, sys
fd = os.open("root/log", os.O_WRONLY | os.O_APPEND)
i = 0
while not os.path.exists("stop"):
    line = b"%s %d\n" % (sys.argv[1].encode(), i)
    assert os.write(fd, line.rjust(2000)) == 2000
    i += 1
print(i)' $i >count-$i 3>&- &
		pids+=($!)
	done
	await_write 0
	for _ in $(seq 5); do
		sleep 0.2
		node_stop
		tcp_start
		await_write 0
	done
	touch stop
	for pid in "${pids[@]}"; do wait "$pid"; done
	for i in 1 2 3 4; do
		grep -a " $i [0-9]*$" root/log | awk '{print $2}' >got
		seq 0 $(($(cat count-$i) - 1)) | cmp - got
	done
	node_stop
}

@test "appends of several processes are all there" {
	tcp_start
	: >root/log
	for i in 1 2 3 4; do
		remote dd if=/dev/zero of=root/log bs=1000 count=200 oflag=append conv=notrunc \
			status=none &
		pids+=($!)
	done
	for pid in "${pids[@]}"; do wait "$pid"; done
	[ "$(stat -c %s root/log)" -eq 800000 ]
	node_stop
}

@test "a file that is gone or has another inode at the node is the program's own business" {
	tcp_start
	remote python3 - <<-'E'
		import os
		fd = os.open("root/gone", os.O_RDWR | os.O_CREAT)
		os.unlink("root/gone")
		assert os.write(fd, b"here") == 4
		assert os.pread(fd, 10, 0) == b"here"
		os.fsync(fd)
	E
	[ "$(moved write)" -eq 0 ]
	node_stop
}

@test "200 connections with more under way than there are buffers" {
	tcp_start
	peer many 200 "$ROOT/many"
	[ "$(JOB=peer moved write)" -eq $((200 * 6 * 262144)) ]
	# 32 MiB of buffers; the rest is what a node needs anyway.
	[ "$(awk '/VmHWM/ { print $2 }' "/proc/$NODE/status")" -lt 200000 ]
	node_stop
}

@test "busy clients are told that buffers are short; a request with an old stamp waits for a new one" {
	tcp_start
	head -c 100 /dev/zero >"$ROOT/file"
	peer crowd "$ROOT/file"
	node_stop
}

@test "clients of both kinds share one node and one file" {
	tcp_start
	truncate -s 5000011 root/out
	remote dd if=data of=root/out bs=64k status=none conv=notrunc count=30 &
	tcp=$!
	forwarded dd if=data of=root/out bs=64k status=none conv=notrunc seek=30 skip=30
	wait $tcp
	cmp data root/out
	[ "$(moved write)" -eq 5000011 ]
	node_stop
}
