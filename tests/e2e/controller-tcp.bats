# SPDX-License-Identifier: Apache-2.0
# A cluster in small: a controller and two I/O nodes that know each other over TCP alone, on
# loopback, and programs that come over TCP. They move between the nodes, too.
bats_require_minimum_version 1.5.0
load daemons

setup() {
	cd "$BATS_TEST_TMPDIR"
	if [ -w /dev/shm ]; then # a node that is left syncs its file system
		ROOT=$(mktemp -d /dev/shm/sluice-tcp-XXXXXX)
	else
		ROOT=$(mktemp -d "$PWD/XXXXXX")
	fi
	JOB=a
	PIDS=()
	start_controller
	for i in 0 1; do
		start n$i.log ionode --root "$ROOT" --socket "$PWD/n$i.sock" --name $i --listen 127.0.0.1:0 \
			--secret-file secret --controller "$CONTROLLER" --controller-secret secret
		ADDRESS[i]=$(sed -n 's/.*tcp=\(127.0.0.1:[0-9]*\) listening/\1/p' n$i.log)
	done
	until_true eval '[ "$(ask c status | jq "[.ionodes[] | select(.up)] | length")" = 2 ]'
}

teardown() {
	local children=
	[ -z "${LOAD:-}" ] || children=$(ps -o pid= --ppid "$LOAD" || true)
	for pid in "${PIDS[@]}" ${LOAD:-} $children; do
		kill -9 "$pid" 2>/dev/null || true
	done
	rm -rf "$ROOT"
}

ask() { # c, n0 or n1, line
	timeout 5 "$ASK" "$1.sock" "$2"
}

clients() { # of node
	ask "n$1" status | jq '[.jobs[].clients] | add // 0'
}

far() { # command: a program on another machine, which begins at node 0
	env SLUICE_MODE=forward LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="tcp:${ADDRESS[0]}" SLUICE_JOB_ID=$JOB \
		SLUICE_SECRET_FILE="$PWD/secret" "$@"
}

at_node() { # number of the one node that has all processes, how many
	[ "$(clients "$1")" -eq "$2" ] && [ "$(clients $((1 - $1)))" -eq 0 ]
}

@test "programs that come over TCP move between nodes, and every byte is right" {
	# Until the moves are done, however long they take.
	far sh -c 'until [ -e stop ]; do
		fio --name=v --directory="$0" --rw=randrw --bs=4k-256k --size=4m --numjobs=3 --ioengine=psync \
			--fsync=16 --verify=crc32c --verify_fatal=1 --verify_state_save=0 --time_based --runtime=4 \
			>>fio.out || exit
	done' "$ROOT" 3>&- &
	LOAD=$!
	until_true eval 'ask c status | jq -e ".jobs[] | select(.in_io)" >/dev/null'
	for node in 1 0 1; do
		ask c "map $JOB $node"
		# fio itself is a client, too, when it lays out files
		until_true eval "[ \$(clients $node) -ge 3 ] && [ \$(clients $((1 - node))) -le 1 ]"
	done
	[ "$(ask c status | jq -r '.jobs[0].ionodes | join(" ")')" = 1 ]
	for i in $(seq 10); do
		ask c "map $JOB $((i % 2))"
		sleep 0.1
	done
	: >stop
	wait "$LOAD" || { cat fio.out; false; }
	LOAD=
	run -1 grep -E 'verify:|err= *[1-9]' fio.out
	for i in 0 1; do
		[ "$(ask n$i status | jq '[.jobs[].write_bytes] | add')" -gt 1000000 ]
	done
}

@test "what was written before a move is synced, and fsync knows it" {
	cat >sync.py <<-'END'
		import os, sys, time
		f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
		while not os.path.exists("end"):
		    os.pwrite(f, b"x" * 10000, 0)
		    time.sleep(0.01)
		os.fsync(f) # most of it is at a node that was left
	END
	far python3 sync.py "$ROOT/f" 3>&- &
	LOAD=$!
	until_true at_node 0 1
	ask c "map $JOB 1"
	until_true at_node 1 1
	touch end
	wait "$LOAD"
	LOAD=
	[ "$(stat -c %s "$ROOT/f")" = 10000 ]
}

@test "a node that dies: its programs find the other one" {
	far python3 -c 'import os, sys, time
f = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
while not os.path.exists("end"):
    os.pwrite(f, b"x" * 10000, 0)
    time.sleep(0.01)' "$ROOT/f" 3>&- &
	LOAD=$!
	until_true at_node 0 1
	until_true eval '[ "$(ask n0 status | jq "[.jobs[].write_bytes] | add // 0")" -gt 20000 ]'
	kill -9 "${PIDS[1]}"
	until_true eval '[ "$(clients 1)" -eq 1 ] && [ "$(ask n1 status | jq "[.jobs[].write_bytes] | add")" -gt 20000 ]'
	touch end
	wait "$LOAD"
	LOAD=
}
