# SPDX-License-Identifier: Apache-2.0
# `--charge wire`: cached reads are free, buffered writes have an allowance and are then paced by their write-back,
# flushes pay for what they flush, and what programs see is as without the library. Times are compared with what a
# capacity would make of calls: a lower bound holds on any machine, an upper one is a multiple of what it takes.
bats_require_minimum_version 1.5.0
load node

MIB=1048576

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	for program in adverse calls together; do
		# shellcheck disable=SC2086 # $CC may have arguments
		$CC -std=c17 -D_GNU_SOURCE -w -O2 -o $program \
			"$SOURCE_DIR/tests/e2e/programs/$program.c" -lpthread
	done
}

setup() {
	node_setup
	CHARGE=wire
	case $(stat -f -c %T root) in
	tmpfs | ramfs | fuseblk | 9p) skip "the directory of tests is on a file system without write-back" ;;
	esac
}

teardown() {
	node_teardown
	! mountpoint -q mount || umount -l mount
	local fs
	for fs in root/a root/b; do
		[ ! -e "$fs/mounted" ] || "$SOURCE_DIR/scripts/testfs" stop "$PWD/$fs"
	done
}

turned() {
	env -u SLUICE_MODE LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$SOCKET" \
		SLUICE_JOB_ID="$JOB" SLUICE_TIMEOUT=20 "$@"
}

# python3 -c PROGRAM, with a function that writes; prints seconds.
timed() { # program
	turned timeout 100 python3 -c "
import os, time
block = bytes(1 << 20)
def put(fd, count):
    for i in range(count):
        assert os.write(fd, block) == len(block)
def make(name, flags=0):
    return os.open('root/' + name, os.O_RDWR | os.O_CREAT | flags, 0o600)
begin = time.monotonic()
$1
print(time.monotonic() - begin)"
}

of_job() { # key, job
	"$ASK" "$SOCKET" status | jq --arg job "${2:-$JOB}" "[.jobs[] | select(.job == \$job).$1] | add // 0"
}

is_about() { # percent, a, b
	echo "$2, expected about $3"
	awk -v p="$1" -v a="$2" -v b="$3" 'BEGIN { exit !(a > b * (100 - p) / 100 && a < b * (100 + p) / 100) }'
}

longer() { echo "$1 against $2"; awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > b) }'; } # a, b
shorter() { echo "$1 against $2"; awk -v a="$1" -v b="$2" 'BEGIN { exit !(a < b) }'; }

# ---- what is free ----

@test "what the page cache has is read at its speed, whatever the capacity, and counted apart" {
	head -c $((16 * MIB)) /dev/zero >root/x
	cat root/x >/dev/null
	node_start --capacity 400K # 40 s, if calls were charged
	shorter "$(timed "
fd = os.open('root/x', os.O_RDONLY)
for size in 1 << 20, 65536, 4096:
    os.lseek(fd, 0, 0)
    while os.read(fd, size): pass")" 20
	[ "$(moved read)" -eq $((48 * MIB)) ]
	is_about 10 "$(of_job cached_bytes)" $((48 * MIB))
	[ "$(of_job wire_bytes)" -lt $((5 * MIB)) ]
	node_stop
}

@test "a thread whose reads were all cached is charged when they are no longer" {
	head -c $((16 * MIB)) /dev/zero >root/x
	sync root/x
	cat root/x >/dev/null
	node_start --capacity 32M
	longer "$(timed "
fd = os.open('root/x', os.O_RDONLY)
for i in range(3):
    if i == 2: os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.lseek(fd, 0, 0)
    while os.read(fd, 4096): pass")" 0.1
	is_about 15 "$(of_job cached_bytes)" $((32 * MIB))
	is_about 15 "$(of_job wire_bytes)" $((16 * MIB))
	node_stop
}

@test "a burst within the allowance runs at once, and is charged later" {
	node_start --capacity 8M --dirty 64M
	shorter "$(timed "put(make('x'), 24); assert time.monotonic() - begin < 1.5, 'it waited'" || echo 99)" 2 ||
		shorter "$(timed "put(make('x'), 24)")" 2
	until_true eval '[ "$(of_job dirty_bytes)" -eq 0 ]'
	is_about 10 "$(of_job wire_bytes)" "$(moved write)"
	node_stop
}

@test "where writes go through, a burst within the allowance does so at once, and is paid before the next" {
	[ -w /dev/fuse ] || skip "no FUSE here"
	ROOT=$PWD/mount
	mkdir mount
	python3 "$SOURCE_DIR/tests/e2e/programs/equal-inodes.py" "$ROOT" 3>&- &
	PROGRAM=$!
	until_true mountpoint -q "$ROOT"
	node_start --capacity 1M --dirty 16M
	longer "$(timed "
fd = os.open('mount/a', os.O_WRONLY)
put(fd, 17)
assert time.monotonic() - begin < 9, 'the burst waited' # 17 s, if calls were charged
put(fd, 3)" || echo 0)" 1.2
	[ "$(moved write)" -eq $((20 * MIB)) ]
	[ "$(of_job wire_bytes)" -eq $((20 * MIB)) ]
	longer "$(of_job dirty_bytes)" 0
	node_stop
	umount mount
	wait $PROGRAM || true
	PROGRAM=
}

# ---- what is charged ----

@test "above the allowance, in a flush, with O_DSYNC, without an allowance: as fast as the capacity" {
	node_start --capacity 16M --dirty 2M
	longer "$(timed "put(make('x'), 24)")" 1.1
	longer "$(timed "
for i in range(24):
    fd = make('small%d' % i)
    put(fd, 1)
    os.close(fd)")" 1.0
	longer "$(timed "put(make('y', os.O_DSYNC), 20)")" 1.0
	node_stop
	node_start --capacity 16M --dirty 64M
	longer "$(timed "fd = make('z'); put(fd, 24); os.fsync(fd)")" 1.2
	longer "$(timed "fd = make('z'); put(fd, 24); os.close(fd); fd = make('v'); put(fd, 22); os.sync()")" 1.1
	node_stop
	node_start --capacity 16M --dirty 0
	longer "$(timed "put(make('w'), 24)")" 1.2
	[ "$(of_job dirty_bytes)" -eq 0 ]
	node_stop
}

@test "msync pays for what is dirty of a mapping, once, also in a program that makes no other call" {
	node_start --capacity 16M --dirty 64M
	longer "$(timed "
import mmap
fd = make('m')
os.ftruncate(fd, 24 << 20)
m = mmap.mmap(fd, 24 << 20)
m[:] = bytes(24 << 20)
m.flush()")" 1.2
	is_about 5 "$(of_job wire_bytes)" $((24 * MIB))
	# One page of it, then none. A process that has just looked is charged by the length: it waits.
	timed "
import mmap
m = mmap.mmap(make('m'), 24 << 20)
m[8 << 20] = 1
m.flush()
time.sleep(.5)
m.flush()" >/dev/null
	[ "$(of_job wire_bytes)" -ge $((24 * MIB + 4096)) ]
	[ "$(of_job wire_bytes)" -le $((24 * MIB * 21 / 20)) ]
	node_stop
}

@test "msync pays where calls are charged, and where each call has a place, too" {
	local with
	CHARGE=calls
	for with in --workers=2 --ask-always; do
		node_start $with
		"$ASK" "$SOCKET" "job $JOB max=16M keep=1"
		longer "$(timed "
import mmap
fd = make('m')
os.ftruncate(fd, 24 << 20)
m = mmap.mmap(fd, 24 << 20)
m[:] = bytes(24 << 20)
m.flush()
m[:1 << 20] = bytes(1 << 20)
m.flush()")" 1.2
		node_stop
	done
}

@test "a max is kept at the call" {
	node_start --dirty 64M
	"$ASK" "$SOCKET" "job $JOB max=16M keep=1"
	longer "$(timed "put(make('x'), 24)")" 1.2
	node_stop
}

@test "what is written over before it is written back is dirty once" {
	node_start --capacity 1M --dirty 64M
	timed "
fd = make('x')
for i in range(40): os.pwrite(fd, block, 0)
os.system('sleep 0.3')" >/dev/null
	[ "$(of_job wire_bytes)" -le $((4 * MIB)) ]
	node_stop
}

@test "what a killed program has dirty is charged, and does not stay" {
	node_start --capacity 64M --dirty 32M
	# exec: so that it is the program that is killed, and not a shell around it
	(exec env -u SLUICE_MODE LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$SOCKET" SLUICE_JOB_ID="$JOB" \
		python3 -c '
import os, time
fd = os.open("root/x", os.O_WRONLY | os.O_CREAT)
for i in range(8): os.write(fd, bytes(1 << 20))
open("written", "w")
time.sleep(100)' 3>&-) &
	PROGRAM=$!
	until_true test -e written
	is_about 5 "$(of_job dirty_bytes)" $((8 * MIB))
	kill -9 $PROGRAM
	wait $PROGRAM || true
	PROGRAM=
	until_true eval '[ "$(of_job dirty_bytes)" -eq 0 ]'
	is_about 10 "$(of_job wire_bytes)" $((8 * MIB))
	node_stop
}

@test "a node that starts again counts what is cached, buffered and written back from then on" {
	head -c $((8 * MIB)) /dev/zero >root/x
	cat root/x >/dev/null
	node_start --capacity 64M
	(exec env -u SLUICE_MODE LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$SOCKET" SLUICE_JOB_ID="$JOB" \
		python3 -c '
import os, time
fd = os.open("root/x", os.O_RDONLY)
for stage in range(2):
    os.lseek(fd, 0, 0)
    while os.read(fd, 65536): pass
    open("done%d" % stage, "w")
    while not os.path.exists("go"): time.sleep(.05)
time.sleep(100)' 3>&-) &
	PROGRAM=$!
	until_true test -e done0
	is_about 10 "$(of_job cached_bytes)" $((8 * MIB))
	kill_9
	node_start --capacity 64M
	until_true eval '[ "$("$ASK" "$SOCKET" status | jq ".jobs | length")" -eq 1 ]'
	[ "$(of_job cached_bytes)" -eq 0 ]
	touch go
	until_true test -e done1
	until_true eval '[ "$(of_job cached_bytes)" -gt $((7 * MIB)) ]'
	[ "$(of_job cached_bytes)" -le "$(moved read)" ]
	[ "$(of_job wire_bytes)" -le $((2 * MIB)) ]
	kill -9 $PROGRAM
	wait $PROGRAM || true
	PROGRAM=
	node_stop
}

# Whoever waits for the file system cannot ask. Without its lead it would move about as much as the other one.
@test "a job has its share also while its flushes and some of its calls take long" {
	local loop
	# shellcheck disable=SC2086 # $CC may have arguments
	$CC -std=c17 -D_GNU_SOURCE -w -O2 -shared -fPIC -o slow.so \
		"$SOURCE_DIR/tests/e2e/programs/slow-calls.c" -ldl
	node_start --capacity 8M --dirty 4M
	"$ASK" "$SOCKET" "job big weight=4 keep=1"
	"$ASK" "$SOCKET" "job small weight=1 keep=1"
	for loop in "os.write(fd, block); os.fsync(fd)" "os.pwrite(fd, block[:131072], 0)"; do
		local flags=0 a b
		[[ $loop == *fsync* ]] || flags=os.O_DSYNC
		a=$(of_job wire_bytes big) b=$(of_job wire_bytes small)
		JOB=small timed "
fd = make('small')
while time.monotonic() - begin < 6: put(fd, 1)" &
		PROGRAM=$!
		JOB=big PRELOAD="$PRELOAD $PWD/slow.so" timed "
fd = make('big', $flags)
while time.monotonic() - begin < 4: $loop"
		a=$(($(of_job wire_bytes big) - a)) b=$(($(of_job wire_bytes small) - b))
		echo "$loop: $a and $b bytes"
		wait $PROGRAM
		PROGRAM=
		longer "$a" $((b * 2))
	done
	node_stop
}

# ---- what programs see ----

@test "what calls answer, and what they leave in files, is as without the library" {
	node_start --capacity 200M --dirty 1M
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

@test "threads, forks, signals, cancellation and closes while write-back is waited for" {
	node_start --capacity 60M --dirty 128K
	for case in threads readers forks appends closes signals cancels; do
		turned timeout 120 "$BATS_FILE_TMPDIR/together" $case root >out 2>err || { cat out err; false; }
		grep -qx fine out
	done
	for case in shared read-and-write leavers handler-forks; do
		turned timeout 120 "$BATS_FILE_TMPDIR/adverse" $case root >out 2>err || { cat out err; false; }
		grep -qx fine out
	done
	node_stop
}

@test "fio finds what it wrote, with flushes in between, and while the capacity comes and goes" {
	command -v fio >/dev/null || skip "no fio"
	node_start --capacity 80M --dirty 1M
	turned fio --name=v --directory=root --rw=randrw --bs=4k-256k --size=6m --numjobs=3 --fsync=16 \
		--verify=crc32c --do_verify=1 --verify_fatal=1 --fallocate=none --group_reporting \
		--output=fio.log 3>&- &
	PROGRAM=$!
	while kill -0 $PROGRAM 2>/dev/null; do
		"$ASK" "$SOCKET" "capacity 0"
		sleep 0.1
		"$ASK" "$SOCKET" "capacity 80M"
		sleep 0.1
	done
	wait $PROGRAM || { cat fio.log; false; }
	PROGRAM=
	run -1 grep -E 'verify:|err= *[1-9]' fio.log
	node_stop
}

# ---- at the device ----

# bats test_tags=plain
@test "two writers of weights 4 and 1 have their shares at the device, without and with fsync" {
	[ -x "$SOURCE_DIR/scripts/testfs" ] || skip "no test file system: scripts/testfs"
	"$SOURCE_DIR/scripts/testfs" check >/dev/null 2>&1 || skip "no test file system: it needs root and loop devices"
	local fs every
	for fs in a b; do
		mkdir root/$fs
		"$SOURCE_DIR/scripts/testfs" start --size 512Mi "$PWD/root/$fs" >/dev/null
		touch root/$fs/mounted
	done
	# A low capacity: waiting for a CPU is a small part. A small allowance: a sync() of others writes it at once.
	node_start --capacity 8M --dirty 512K
	# A file that another program has opened, on a file system that is mounted below the directory
	turned head -c $MIB /dev/zero >root/a/y
	[ "$(moved write)" -eq $MIB ]
	"$ASK" "$SOCKET" "job big weight=4 keep=1"
	"$ASK" "$SOCKET" "job small weight=1 keep=1"
	for every in 0 4; do
		local of_big of_small
		of_big=$(of_job wire_bytes big) of_small=$(of_job wire_bytes small)
		writer big a $every &
		local big=$!
		writer small b $every &
		PROGRAM=$!
		# Both have filled their allowance: from then on the capacity divides.
		until_true eval '[ "$(of_job wire_bytes big)" -gt $((of_big + MIB)) ]'
		until_true eval '[ "$(of_job wire_bytes small)" -gt $((of_small + MIB)) ]'
		local a0 b0 a b
		a0=$(device a) b0=$(device b)
		sleep 5
		a=$(device a) b=$(device b)
		kill -9 $big "$PROGRAM"
		wait $big "$PROGRAM" || true
		PROGRAM=
		awk -v a="$a" -v a0="$a0" -v b="$b" -v b0="$b0" -v every=$every 'BEGIN {
			a -= a0; b -= b0
			printf "fsync every %d MiB: %.0f and %.0f bytes in 5 s\n", every, a, b
			exit !(b > 0 && a / b > 2.8 && a / b < 5.7 && a + b < 1.3 * 5 * 8e6)
		}'
	done
	node_stop
}

writer() { # job, file system, MiB between two calls of fsync
	exec env -u SLUICE_MODE LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$SOCKET" \
		SLUICE_JOB_ID="$1" python3 -c "
import os, time
end = time.monotonic() + 60
fd = os.open('$ROOT/$2/x', os.O_WRONLY | os.O_CREAT)
block = bytes(1 << 18)
for i in range(1 << 20):
    if time.monotonic() > end: break
    os.pwrite(fd, block, i % 1024 * len(block))
    if $3 and i % ($3 * 4) == 0: os.fsync(fd)" 3>&-
}

device() { # file system
	"$SOURCE_DIR/scripts/testfs" count "$PWD/root/$1" | sed 's/.*written //'
}
