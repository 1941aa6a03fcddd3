# SPDX-License-Identifier: Apache-2.0
# The turn route leaves programs as they are: each test is a defect that was found by attack.
bats_require_minimum_version 1.5.0
load live

setup_file() {
	compile safety
	compile segment -I"$SOURCE_DIR" -I"$SOURCE_DIR/include"
}

setup() {
	live_setup
	SAFETY=$BIN/safety
	MOUNT='' LOOP='' SERVER=''
}

teardown() {
	[ -z "$LOOP" ] || fsfreeze -u "$MOUNT" 2>/dev/null || true
	[ ! -e "$SLUICE_RUNTIME/default/pid" ] || kill -CONT "$(node_pid)" 2>/dev/null || true
	[ -z "$MOUNT" ] || umount -l "$MOUNT" || true
	live_teardown
	[ -z "$LOOP" ] || losetup -d "$LOOP" || true
	[ -z "$SERVER" ] || kill "$SERVER" 2>/dev/null || true
}

up() { # options of up
	"$SLUICE" up --charge calls "$@" "$DIR" >/dev/null
}

revive() {
	"$SLUICE" up --revive >/dev/null
}

ran() { # options of run and command; fails if it does not end, or says anything on stderr
	timeout -k 1 "${LIMIT:-60}" "$SLUICE" run --job j "$@" 2>"$BATS_TEST_TMPDIR/err" ||
		{ echo "status $?"; cat "$BATS_TEST_TMPDIR/err"; return 1; }
	[ ! -s "$BATS_TEST_TMPDIR/err" ] || { cat "$BATS_TEST_TMPDIR/err"; return 1; }
}

# Run a test without limits, under a capacity, under a limit of the job, and where each call asks.
# shellcheck disable=SC2034 # RUN is for the command
in_all_modes() { # command
	local mode
	for mode in '' '--capacity 20MB/s' '--ask-always'; do
		echo "up $mode"
		# shellcheck disable=SC2086 # no option is no word
		up $mode
		RUN=()
		"$@"
		"$SLUICE" down >/dev/null
	done
	echo "run --max 20MB/s"
	up
	RUN=(--max 20MB/s)
	"$@"
	"$SLUICE" down >/dev/null
}

segments() { # files of the segments
	find "$SLUICE_RUNTIME"/default -path '*.jobs/*' -type f 2>/dev/null
}

look() { # key: of the only segment
	local file
	file=$(segments)
	[ -n "$file" ] && "$BIN/segment" "$file" "$1"
}

is() { # expected, key
	[ "$(look "$2")" = "$1" ]
}

freezes() { # a file system at $DIR/frozen that can be frozen
	[ "$(id -u)" -eq 0 ] || skip "only root can mount"
	truncate -s 32M "$BATS_TEST_TMPDIR/image"
	mkfs.ext4 -q "$BATS_TEST_TMPDIR/image"
	LOOP=$(losetup -f --show "$BATS_TEST_TMPDIR/image") || { LOOP=''; skip "no loop device"; }
	mkdir "$DIR/frozen"
	mount "$LOOP" "$DIR/frozen"
	MOUNT=$DIR/frozen
}

@test "a process that was killed and reaped never writes again" {
	up --capacity 20MB/s
	for round in 1 2 3 4 5; do
		coproc LOAD { exec "$SLUICE" run --job r -- "$SAFETY" overwrite "$DIR/f" 16 3>&-; }
		pid=$LOAD_PID
		LOADS+=("$pid")
		read -r -t 30 -u "${LOAD[0]}"
		kill -STOP "$(node_pid)"
		sleep 0.05
		kill -KILL "$pid"
		wait "$pid" || true
		head -c 65536 /dev/zero | tr '\0' N >"$BATS_TEST_TMPDIR/new"
		dd if="$BATS_TEST_TMPDIR/new" of="$DIR/f" bs=64K conv=notrunc status=none
		kill -CONT "$(node_pid)"
		until_true 20 status .pid
		sleep 0.1
		cmp "$BATS_TEST_TMPDIR/new" "$DIR/f"
	done
}

@test "a writer that is killed while it waits leaves no hole in a file that others share" {
	up
	for round in 1 2 3; do
		# shellcheck disable=SC2016 # for the inner shell
		"$SLUICE" run --job "h$round" --max 1MB/s -- sh -c '
			yes AAAAAAA | dd bs=30000 iflag=fullblock count=100000 status=none & writer=$!
			sleep 0.5
			kill -9 $writer
			wait $writer
			echo END' >"$DIR/f" 2>"$BATS_TEST_TMPDIR/err"
		[ "$(tail -n 1 "$DIR/f")" = END ] || grep -q 'AEND$' <(tail -n 1 "$DIR/f")
		[ "$(tr -d '\0' <"$DIR/f" | wc -c)" -eq "$(stat -c %s "$DIR/f")" ]
		[ "$(stat -c %s "$DIR/f")" -gt 1000 ]
	done
}

@test "a program and a lock are free as soon as the process that made them has been reaped" {
	in_all_modes leaves_nothing
}

leaves_nothing() {
	ran "${RUN[@]}" -- "$SAFETY" leave "$DIR/program" 200
}

@test "a frozen file system does not stop jobs on other files" {
	local mode
	freezes
	for mode in '' '--ask-always'; do
		echo "up $mode"
		# shellcheck disable=SC2086 # no option is no word
		up --capacity 20MB/s $mode
		for i in 1 2 3; do
			start_load "stuck$i" -- "$SAFETY" overwrite "$MOUNT/$i" 6 >"$BATS_TEST_TMPDIR/ready.$i"
			until_true 20 test -s "$BATS_TEST_TMPDIR/ready.$i"
		done
		fsfreeze -f "$MOUNT"
		LIMIT=30 ran -- dd if=/dev/zero of="$DIR/free" bs=64K count=160 status=none
		[ "$(stat -c %s "$DIR/free")" -eq 10485760 ]
		fsfreeze -u "$MOUNT"
		for pid in "${LOADS[@]}"; do
			kill -KILL "$pid"
			wait "$pid" || true
		done
		LOADS=()
		rm "$BATS_TEST_TMPDIR"/ready.*
		"$SLUICE" down >/dev/null
	done
}

@test "writev moves all of 1,024 vectors" {
	in_all_modes vectors
}

vectors() {
	ran "${RUN[@]}" -- "$SAFETY" vectors "$DIR/f"
}

@test "a signal handler needs hardly more stack than without a layer" {
	plain=$("$SAFETY" stack "$DIR/f")
	in_all_modes small_stack
}

small_stack() {
	local used
	used=$(ran "${RUN[@]}" -- "$SAFETY" stack "$DIR/f")
	echo "$plain bytes, now $used"
	[ "$used" -le $((plain + 1024)) ]
}

@test "signals end no write, with SA_RESTART and without" {
	in_all_modes signals
}

signals() {
	ran "${RUN[@]}" -- "$SAFETY" signals "$DIR/f" restart
	ran "${RUN[@]}" -- "$SAFETY" signals "$DIR/f" interrupt
}

@test "a program that limits its own system calls goes on" {
	in_all_modes filters
}

filters() {
	ran "${RUN[@]}" -- "$SAFETY" filter "$DIR/f" socket
	ran "${RUN[@]}" -- "$SAFETY" filter "$DIR/f" strict
	ran "${RUN[@]}" -- "$SAFETY" filter "$DIR/f" kill
}

@test "a program that has locked its memory and may lock no more goes on" {
	in_all_modes locks
}

locks() {
	LIMIT=20 ran "${RUN[@]}" -- "$SAFETY" locked "$DIR/f"
}

@test "bad addresses are EFAULT" {
	in_all_modes addresses
}

addresses() {
	ran "${RUN[@]}" -- "$SAFETY" address "$DIR/f" "$DIR/g"
}

@test "the read of a pipe in the directory can be interrupted while its job has to wait" {
	mkfifo "$DIR/fifo"
	up
	# A debt of 1,000 s.
	ran --max 1MB/s -- dd if=/dev/zero of="$DIR/f" bs=1000M count=1 status=none
	LIMIT=20 ran --max 1MB/s -- "$SAFETY" pipe "$DIR/fifo"
}

@test "more threads than slots, and copies, have their turns where each call asks" {
	up --ask-always
	ran -- "$SAFETY" threads "$DIR/f" 150
	head -c 3000000 /dev/urandom >"$DIR/a"
	LIMIT=20 ran -- cp "$DIR/a" "$DIR/b"
	cmp "$DIR/a" "$DIR/b"
}

@test "where the runtime directory is not to be seen, programs go on" {
	[ "$(id -u)" -eq 0 ] || skip "only root can mount"
	up --capacity 20MB/s
	# shellcheck disable=SC2016 # for the inner shell
	"$SLUICE" run --job n --timeout 2s -- unshare --mount sh -c 'mount -t tmpfs none "$1" &&
		timeout 20 dd if=/dev/zero of="$2" bs=4K count=100 status=none' \
		sh "$SLUICE_RUNTIME" "$DIR/f" 2>"$BATS_TEST_TMPDIR/err"
	[ "$(stat -c %s "$DIR/f")" -eq 409600 ]
}

@test "a node that is out of descriptors stops no program" {
	(ulimit -n 40 && up --capacity 20MB/s)
	# shellcheck disable=SC2016 # for the inner shell
	LIMIT=100 ran --timeout 2s -- bash -c '
		for ((i = 0; i < 100; i++)); do
			(echo x; sleep 3) >"$1/f$i" & pids+=($!)
		done
		for pid in "${pids[@]}"; do
			wait "$pid" || exit 1
		done' bash "$DIR"
	[ "$(cat "$DIR"/f* | wc -l)" -eq 100 ]
}

@test "two files with equal inode numbers are not mixed up" {
	[ "$(id -u)" -eq 0 ] || skip "only root can mount"
	[ -c /dev/fuse ] || skip "no FUSE here"
	mkdir "$DIR/m"
	MOUNT=$DIR/m
	python3 "$SOURCE_DIR/tests/e2e/programs/equal-inodes.py" "$MOUNT" 3>&- &
	SERVER=$!
	until_true 10 mountpoint -q "$MOUNT"
	for mode in '--capacity 4MB/s' '--ask-always'; do
		# shellcheck disable=SC2086 # two words
		up $mode
		ran -- "$SAFETY" equal "$MOUNT/a" "$MOUNT/b" 50
		"$SLUICE" down >/dev/null
	done
}

verifiers() { # file of results: all have ended well, and none has waited for longer than 5 s, and some
	local i ms
	for i in "${!LOADS[@]}"; do
		wait "${LOADS[$i]}"
	done
	LOADS=()
	for i in "$BATS_TEST_TMPDIR"/longest.*; do
		ms=$(cat "$i")
		echo "longest call $ms ms"
		[ "$ms" -lt 9000 ]
	done
}

@test "a node that is killed, stopped and revived: no error, nothing lost, no wait over 5 s" {
	up --capacity 8MB/s
	for i in 1 2 3 4; do
		start_load "v$((i % 2))" -- "$SAFETY" verify "$DIR/f$i" 24 >"$BATS_TEST_TMPDIR/longest.$i"
	done
	until_true 20 test -s "$DIR/f4"
	sleep 1
	kill_node
	sleep 1
	revive
	sleep 2
	kill -STOP "$(node_pid)"
	sleep 11 # they have gone on by now
	kill -CONT "$(node_pid)"
	sleep 2
	kill_node
	sleep 1
	revive
	verifiers
	# And the last node knows all of them.
	[ "$(status '[.jobs[].job] | sort | join(" ")')" = "v0 v1" ]
}

unscheduled_above() { # bytes
	[ "$(look unscheduled)" -gt "$1" ]
}

@test "after a node has been silent, its jobs go on at once, and are limited again when it is back" {
	up --capacity 1MB/s
	start_load v -- "$SAFETY" verify "$DIR/f" 13 >"$BATS_TEST_TMPDIR/longest.1" 2>"$BATS_TEST_TMPDIR/err"
	until_true 20 test -s "$DIR/f"
	kill -STOP "$(node_pid)"
	until_true 20 grep -q "does not answer" "$BATS_TEST_TMPDIR/err"
	until_true 20 unscheduled_above 1000000
	kill -CONT "$(node_pid)"
	sleep 0.5
	before=$(look unscheduled)
	sleep 1
	[ "$(look unscheduled)" -eq "$before" ]
	verifiers
	[ "$(wc -l <"$BATS_TEST_TMPDIR/err")" -eq 1 ]
}

@test "what one call has moved too much is charged after its program has ended" {
	up
	ran --max 1MB/s -- dd if=/dev/zero of="$DIR/f" bs=4M count=1 status=none
	before=$(date +%s%N)
	ran --max 1MB/s -- dd if=/dev/zero of="$DIR/f" bs=4K count=1 status=none
	after=$(date +%s%N)
	echo "waited $(((after - before) / 1000000)) ms"
	[ $((after - before)) -gt 2000000000 ]
}

@test "a program that dies in its first call leaves its debt to the job, which is kept until it is paid" {
	up
	# Killed by SIGXFSZ in the middle of the call: nothing has moved, and nobody could say so.
	run "$SLUICE" run --job j --max 1MB/s -- sh -c "ulimit -f 0; exec dd if=/dev/zero of=$DIR/f bs=8M count=1"
	[ "$status" -ne 0 ]
	sleep 3
	[ "$(job j job)" = j ]
	until_true 20 is_forgotten
}

is_forgotten() {
	[ -z "$(segments)" ] && [ "$(job j job)" = null ]
}

@test "credit that nobody uses is taken back" {
	up --capacity 100MB/s
	start_load j -- sh -c "dd if=/dev/zero of=$DIR/f bs=64K count=500 status=none; exec sleep 1000"
	until_true 20 eval '[ "$(stat -c %s "$DIR/f")" -eq 32768000 ]'
	until_true 20 is 0 credit
}

@test "nothing is left of a job that was killed before it did anything" {
	up
	start_load j -- sleep 1000
	until_true 20 eval '[ -n "$(segments)" ]'
	kill -KILL "${LOADS[0]}"
	wait "${LOADS[0]}" || true
	until_true 20 is_forgotten
}

@test "threads that are killed while they wait leave no slot behind" {
	up --ask-always --capacity 1MB/s
	start_load j -- "$SAFETY" threads "$DIR/f" 100
	start_load j -- sleep 1000
	until_true 20 eval '[ "$(look slots)" -gt 5 ]'
	kill -KILL "${LOADS[0]}"
	until_true 20 is 0 slots
}

@test "300 short processes leave the table of processes free" {
	up
	# shellcheck disable=SC2016 # for the inner shell
	ran -- sh -c 'i=0; while [ $i -lt 300 ]; do /bin/echo $i >"$1/f$i"; i=$((i + 1)); done' sh "$DIR"
	[ "$(cat "$DIR"/f* | wc -l)" -eq 300 ]
	[ "$(job j requests)" -eq 300 ]
	until_true 20 is 0 processes
}

@test "processes of another PID namespace are taken for nobody else" {
	[ "$(id -u)" -eq 0 ] || skip "only root can make namespaces"
	up --ask-always --capacity 20MB/s
	# Process 1 in there is not the node's process 1, which lives for ever.
	ran -- unshare --pid --fork --mount-proc dd if=/dev/zero of="$DIR/f" bs=64K count=50 status=none
	[ "$(job j write_bytes)" -eq 3276800 ]
	[ "$(look processes)" -eq 0 ]
	[ "$(look slots)" -eq 0 ]
	[ "$(job j clients)" -eq 0 ]
}

@test "limits hold after the node was killed and revived" {
	up
	start_load j --max 2MB/s -- "$SAFETY" verify "$DIR/f" 7 >"$BATS_TEST_TMPDIR/longest.1"
	until_true 20 test -s "$DIR/f"
	kill_node
	revive
	[ "$(job j max_bps)" -eq 2000000 ]
	before=$(stat -c %s "$DIR/f")
	sleep 3
	after=$(stat -c %s "$DIR/f")
	echo "$((after - before)) bytes in 3 s"
	[ $((after - before)) -lt 7000000 ] # each record is read back, too
	[ $((after - before)) -gt 500000 ]
	verifiers
}

@test "programs go on at once when the layer is taken down under them" {
	up
	# It owes 1,000 s of its limit.
	start_load j --max 1MB/s -- sh -c "dd if=/dev/zero of=$DIR/f bs=1000M count=1 status=none
		exec dd if=/dev/zero of=$DIR/g bs=1M count=20 status=none"
	until_true 30 test -e "$DIR/g"
	sleep 0.5
	[ "$(stat -c %s "$DIR/g")" -eq 0 ]
	"$SLUICE" down --force >/dev/null || "$SLUICE" down >/dev/null
	before=$SECONDS
	wait "${LOADS[0]}"
	[ $((SECONDS - before)) -le 4 ]
	[ "$(stat -c %s "$DIR/g")" -eq 20971520 ]
}
