# SPDX-License-Identifier: Apache-2.0
# The preloaded library when things go wrong under a call: the node dies, stops or refuses, the
# descriptor is closed and its number means another file, a signal handler does not come back, there
# is no descriptor left. No data goes where it does not belong, and no call waits for ever.
bats_require_minimum_version 1.5.0
load node
load tcp

setup_file() {
	cd "$BATS_FILE_TMPDIR"
	$CC -std=c17 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-result -O2 -o adverse \
		"$SOURCE_DIR/tests/e2e/programs/adverse.c" -lpthread
	$CC -std=c17 -D_GNU_SOURCE -Wall -Wextra -O2 -shared -fPIC -o shim.so \
		"$SOURCE_DIR/tests/e2e/programs/shim.c"
}

setup() {
	node_setup
	: >out
}

adverse() {
	forwarded timeout 60 "$BATS_FILE_TMPDIR/adverse" "$1" root >out 2>err
}

# In the background; then wait for a line of its.
start_adverse() {
	adverse "$1" <&0 3>&- &
	PROGRAM=$!
	for _ in $(seq 500); do
		! grep -q "$2" out || return 0
		sleep 0.02
	done
	cat out
	return 1
}

ends_well() {
	wait "$PROGRAM" || {
		cat out err
		return 1
	}
	grep -qx fine out
}

# A node that sees things: programs/shim.c
shim() {
	local SHIM=$1 LD_PRELOAD=$BATS_FILE_TMPDIR/shim.so
	local ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
	export SHIM LD_PRELOAD ASAN_OPTIONS
	"${@:2}"
}

connections() {
	grep -c ' connected' node.log
}

@test "a number that means another file: the call goes on with the one it began with" {
	node_start --capacity 4M
	start_adverse replaced replaced
	ends_well
	node_stop
}

@test "a number that means another file, and the node is lost: nothing goes into that" {
	for case in replaced-alone replaced-here replaced-idle; do
		: >out
		node_start --capacity 1M
		start_adverse $case replaced
		kill_9
		node_start
		ends_well
		node_stop
	done
}

@test "a number that means another file, and going on without the node: nothing goes into that" {
	TIMEOUT=0.2s
	export SLUICE_FALLBACK=direct
	for case in replaced-alone replaced-here replaced-idle replaced-here-idle; do
		: >out
		node_start --capacity 1M
		start_adverse $case replaced
		kill_9
		ends_well
	done
}

@test "threads that share a descriptor lose nothing when they go on without the node" {
	TIMEOUT=0.2s
	export SLUICE_FALLBACK=direct
	node_start --capacity 4M
	adverse shared 3>&- &
	PROGRAM=$!
	await_write 2000000
	kill_9
	ends_well
	grep -q 'going on without' err
}

@test "a reader at the end of a file leaves no gap for the writer beside it" {
	node_start
	adverse read-and-write
	[ "$(moved write)" -gt 4000000 ]
	node_stop
	node_start
	adverse read-and-write
	node_stop
}

@test "a program with an interval timer notices that its node has died" {
	node_start --capacity 4M
	adverse timer 3>&- &
	PROGRAM=$!
	await_write 1000000
	kill_9
	sleep 0.5
	node_start
	ends_well
	[ "$(moved write)" -gt 0 ]
	node_stop
}

@test "a node that is stopped for longer than ten seconds is not dead" {
	node_start
	mkfifo go
	exec 8<>go
	start_adverse stopped connected <go
	kill -STOP "$NODE"
	echo go >&8
	sleep 11
	kill -CONT "$NODE"
	ends_well
	exec 8>&-
	[ "$(connections)" -eq 1 ]
	node_stop
}

@test "a program that waits for a node that is stopped can be ended" {
	node_start
	mkfifo go
	exec 8<>go
	start_adverse stopped connected <go
	kill -STOP "$NODE"
	echo go >&8
	sleep 0.3
	pid=$(sed -n 's/ connected//p' out)
	kill "$pid"
	run -0 timeout 10 tail --pid="$pid" -f /dev/null
	exec 8>&-
	kill -CONT "$NODE"
	node_stop
}

@test "an answer that another thread is about to read is not the node's end" {
	shim slow node_start
	adverse openers
	[ "$(connections)" -eq 1 ]
	node_stop
}

@test "handlers that leave by siglongjmp() do not keep the others waiting" {
	node_start --capacity 40M
	adverse leavers
	node_stop
}

@test "a handler that forks, in a call of ours: each of the two finishes it" {
	node_start
	adverse handler-forks
	node_stop
	node_start
	adverse handler-forks
	node_stop
}

@test "a program that has no descriptor left goes on without the node, at once" {
	node_start
	SECONDS=0
	adverse full-table
	[ "$SECONDS" -lt 10 ]
	[ ! -s err ]
	[ "$(moved write)" -eq 5 ]
	node_stop
}

@test "what a node says when it refuses a client is printed" {
	node_start
	SLUICE_JOB_CONF=min=100M TIMEOUT=1s run ! adverse read-and-write
	grep -q 'sluice: cannot use the I/O node at .*: .*; I/O fails' err
	run ! grep 'no I/O node' err
	kill_9
}

@test "a file system that says EAGAIN is not asked again for ever" {
	shim eagain node_start
	adverse try-again
	node_stop
	shim eagain tcp_start
	remote timeout 60 "$BATS_FILE_TMPDIR/adverse" try-again root
	node_stop
}

@test "over TCP, the size of a file is what the node says it is" {
	tcp_start
	printf '%050d' 0 >root/unknown
	PRELOAD="$PRELOAD $BATS_FILE_TMPDIR/shim.so" SHIM=empty \
		remote timeout 60 "$BATS_FILE_TMPDIR/adverse" unknown-size root
	[ "$(moved read)" -eq 100 ]
	node_stop
}
