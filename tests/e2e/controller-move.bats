# SPDX-License-Identifier: Apache-2.0
# Running jobs that move between I/O nodes, at the controller's word or because a node has died:
# what they write and read is right.
bats_require_minimum_version 1.5.0
load wait

setup() {
	cd "$BATS_TEST_TMPDIR"
	ROOT=$PWD/root JOB=a
	mkdir "$ROOT"
	PIDS=()
	controller
	for i in 0 1 2; do node $i; done
	until_true eval '[ "$(ask c status | jq "[.ionodes[] | select(.up)] | length")" = 3 ]'
}

teardown() {
	local children=
	# fio's processes have sessions of their own, and outlive it.
	[ -z "${LOAD:-}" ] || children=$(ps -o pid= --ppid "$LOAD" || true)
	for pid in "${PIDS[@]}" ${CONTROLLER:-} ${LOAD:-} $children; do
		kill -9 "$pid" 2>/dev/null || true
	done
}

controller() {
	"$SLUICED" controller --socket c.sock 3>&- 2>>c.log &
	CONTROLLER=$!
	until_true test -S c.sock
}

node() { # number
	"$SLUICED" ionode --root "$ROOT" --socket "$PWD/n$1.sock" --name "$1" --controller "$PWD/c.sock" \
		3>&- 2>>"n$1.log" &
	PIDS[$1]=$!
	until_true test -S "n$1.sock"
}

ask() { # c or n0 …, line
	timeout 5 "$ASK" "$1.sock" "$2"
}

clients() { # of node
	ask "n$1" status | jq '[.jobs[].clients] | add // 0'
}

moved() { # by all nodes that are up
	for i in 0 1 2; do ask n$i status 2>/dev/null || true; done | jq -s '[.[].jobs[] | .read_bytes + .write_bytes] | add'
}

# Eight processes that write, read and compare until verified() ends them. They are paced: what counts
# is that each has requests under way at any time, and not how many it makes.
verify() {
	env SLUICE_MODE=forward LD_PRELOAD="$PRELOAD" SLUICE_ROOT="$ROOT" SLUICE_SOCKET="$PWD/n0.sock" SLUICE_JOB_ID=$JOB \
		fio --name=v --directory="$ROOT" --rw=randrw --bs=4k-256k --size=4m --numjobs=8 --ioengine=psync \
		--verify=crc32c --verify_fatal=1 --verify_state_save=0 --time_based --runtime=600 \
		--rate_iops=150 --output=fio.out 3>&- &
	LOAD=$!
	until_true eval 'ask c status | jq -e ".jobs[] | select(.in_io)" >/dev/null'
	# The first of them makes the files, and starts the others.
	until_true eval '[ $(($(clients 0) + $(clients 1) + $(clients 2))) -ge 8 ]'
	until_moved 1000000
}

until_moved() { # bytes, from now
	local before
	before=$(moved)
	until_true eval "[ \"\$(moved)\" -gt $((before + $1)) ]"
}

verified() {
	local status=0
	kill -INT "$LOAD"
	wait "$LOAD" || status=$?
	LOAD=
	[ $status = 128 ] || { cat fio.out; false; } # interrupted
	grep -q 'write: IOPS=' fio.out
	run -1 grep -E 'verify:|err= *[1-9]' fio.out
}

@test "a job moves a hundred times while it writes, and every byte is right" {
	verify
	maps=(1 0,2 2 0,1,2 '' 0)
	for i in $(seq 100); do
		ask c "map $JOB ${maps[i % 6]}"
		sleep 0.05
	done
	# All of them have had their share.
	for i in 0 1 2; do
		[ "$(ask n$i status | jq '[.jobs[].write_bytes] | add')" -gt 1000000 ]
	done
	verified
}

@test "clients are soon where they belong, and what waits does not hold them" {
	verify
	for target in 2 1 0; do
		ask c "map $JOB $target"
		until_true eval "[ \"\$(clients $target)\" -ge 8 ]"
	done
	verified
}

@test "a job goes on when the controller dies, and a new one knows it soon" {
	verify
	ask c "map $JOB 0,1,2"
	until_true eval '[ $(($(clients 1) + $(clients 2))) -ge 1 ]' # placed by pid: not always at both
	kill -9 "$CONTROLLER"
	until_moved 1000000
	rm -f c.sock
	controller
	until_true eval '[ "$(ask c status | jq "[.ionodes[] | select(.up)] | length")" = 3 ]'
	until_true eval 'ask c status | jq -e ".jobs[] | select(.job == \"a\") | .in_io and .moved_bytes > 1000000"'
	verified
}

@test "a job moves on when its nodes die one after the other, and when one is back" {
	verify
	ask c "map $JOB 0,1,2"
	until_true eval '[ $(($(clients 1) + $(clients 2))) -ge 1 ]' # placed by pid: not always at both
	kill -9 "${PIDS[0]}"
	until_true eval '[ $(($(clients 1) + $(clients 2))) -ge 8 ]'
	kill -9 "${PIDS[2]}"
	until_true eval '[ "$(clients 1)" -ge 8 ]'
	node 0
	until_true eval '[ "$(ask c status | jq "[.ionodes[] | select(.up)] | length")" = 2 ]'
	kill -9 "${PIDS[1]}"
	until_true eval '[ "$(clients 0)" -ge 8 ]'
	verified
}

@test "what cannot be is refused" {
	verify
	run ask c "map nobody 0"
	[ "$status" -ne 0 ]
	run ask c "map $JOB 7"
	[ "$status" -ne 0 ]
	verified
}
