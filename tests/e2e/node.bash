# SPDX-License-Identifier: Apache-2.0
# For tests with a live node: load it, then
#
#	node_start [OPTIONS]   a node on $ROOT, an empty directory beneath the test's own; it charges $CHARGE (calls,
#	                       so that a capacity holds calls on any file system)
#	forwarded CMD…         run CMD with the preloaded library, as job $JOB, its I/O done by the node
#	moved read|write       bytes that the node has moved for job $JOB
#	await_write BYTES      until it has written more than that for job $JOB
#	node_stop              end it; its log must hold nothing but information
#	kill_9                 end it as a crash would
#
# setup() goes to the test's directory, with an empty ROOT; teardown() ends $PROGRAM and the node that a
# test that failed has left. A file that needs more defines its own behind the line that loads this.
load wait

node_setup() {
	cd "$BATS_TEST_TMPDIR"
	ROOT=$PWD/root SOCKET=$PWD/socket JOB=1
	mkdir root
	: >node.log
}

node_teardown() {
	[ -z "${PROGRAM:-}" ] || kill -9 "$PROGRAM" 2>/dev/null || true
	node_kill
}

setup() {
	node_setup
}

teardown() {
	node_teardown
}

node_start() {
	ROOT=${ROOT:-$BATS_TEST_TMPDIR/root} SOCKET=$BATS_TEST_TMPDIR/socket JOB=${JOB:-1}
	mkdir -p "$ROOT"
	rm -f "$BATS_TEST_TMPDIR/ready"
	mkfifo "$BATS_TEST_TMPDIR/ready"
	"$SLUICED" ionode --root "$ROOT" --socket "$SOCKET" --charge "${CHARGE:-calls}" --ready-fd 9 "$@" \
		9>"$BATS_TEST_TMPDIR/ready" 3>&- 2>>"$BATS_TEST_TMPDIR/node.log" &
	NODE=$!
	read -r -N 1 <"$BATS_TEST_TMPDIR/ready" || {
		cat "$BATS_TEST_TMPDIR/node.log"
		return 1
	}
}

node_stop() {
	local status=0
	kill "$NODE"
	wait "$NODE" || status=$?
	NODE=
	[ $status -eq 0 ] || {
		echo "the node ended with status $status"
		tail -n 50 "$BATS_TEST_TMPDIR/node.log"
		return 1
	}
	# A disk that is busy with other tests may block a write for a second.
	! grep -E ' (warn|error) ' "$BATS_TEST_TMPDIR/node.log" |
		grep -v 'tcp: a thread does not come back from a file or file system; another one is started$'
}

node_kill() {
	[ -z "${NODE:-}" ] || kill -9 "$NODE" 2>/dev/null || true
}

forwarded() {
	env SLUICE_MODE=forward LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$SOCKET" SLUICE_JOB_ID="$JOB" \
		SLUICE_TIMEOUT="${TIMEOUT:-20}" "$@"
}

moved() {
	"$ASK" "$SOCKET" status |
		jq --arg job "$JOB" --arg key "$1_bytes" '[.jobs[] | select(.job == $job)[$key]] | add // 0'
}

await_write() {
	for _ in $(seq 500); do
		[ "$(moved write)" -le "$1" ] || return 0
		sleep 0.02
	done
	echo "the node has written $(moved write)"
	return 1
}

kill_9() {
	kill -9 "$NODE"
	wait "$NODE" || true
	NODE=
}
