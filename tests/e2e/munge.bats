# SPDX-License-Identifier: Apache-2.0
# A controller and nodes that know each other by MUNGE, with a munged of the test's own.
bats_require_minimum_version 1.5.0
load daemons

setup() {
	command -v munged >/dev/null || [ ! -x /usr/sbin/munged ] || PATH=$PATH:/usr/sbin
	command -v munged >/dev/null || skip "no munged"
	cd "$BATS_TEST_TMPDIR"
	PIDS=()
	WORK=$(mktemp -d /tmp/sluice-munge-XXXXXX) # the path of a socket is short, and others may go there
	chmod 755 "$WORK"
	head -c 64 /dev/urandom >"$WORK/key"
	chmod 600 "$WORK/key"
	MUNGED=$WORK/munge.sock
	munged --foreground --force --socket="$MUNGED" --key-file="$WORK/key" --pid-file="$WORK/pid" --seed-file="$WORK/seed" \
		--log-file="$WORK/log" 2>munged.log 3>&- &
	PIDS+=($!)
	until_true [ -S "$MUNGED" ]
	chmod 777 "$MUNGED"
}

teardown() {
	for pid in "${PIDS[@]}"; do
		kill -CONT "$pid" 2>/dev/null || true
		kill -9 "$pid" 2>/dev/null || true
	done
	rm -rf "${WORK:-}"
}

controller() { # port
	start c.log controller --socket "$WORK/c.sock" --listen "127.0.0.1:${1:-0}" --munge="$MUNGED"
	CONTROLLER=$(sed -n 's/.*controller listen=//p' c.log)
}

node() { # number, options
	local number=$1
	shift
	start "n$number.log" ionode --root "$PWD" --socket "$WORK/n$number.sock" --name "$number" --controller "$CONTROLLER" "$@"
}

nodes_up() { # how many
	[ "$("$ASK" "$WORK/c.sock" status | jq '[.ionodes[] | select(.up)] | length')" -eq "$1" ]
}

peer() { # kind, arguments; prints what came of it
	local kind=$1
	shift
	python3 "$SOURCE_DIR/tests/e2e/programs/munge-peer.py" "$kind" 127.0.0.1 "${CONTROLLER##*:}" "$MUNGED" "$@"
}

two_users() {
	[ "$(id -u)" -eq 0 ] || skip "only root can become another user"
}

@test "nodes and two controllers know each other by MUNGE, and by nothing else" {
	controller
	node 0 --munge="$MUNGED"
	until_true nodes_up 1
	(umask 077 && head -c 24 /dev/urandom | base64 >secret)
	node 1 --controller-secret secret
	until_true grep -q "controller=$CONTROLLER not there" n1.log
	node 2 --munge="$WORK/none"
	until_true grep -q "controller=$CONTROLLER not there: MUNGE: " n2.log
	nodes_up 1
	start s.log controller --socket "$WORK/s.sock" --peer "$CONTROLLER" --standby --listen 127.0.0.1:0 --munge="$MUNGED"
	until_true eval '"$ASK" "$WORK/s.sock" peer | grep -q "leads=0 term=[1-9]"'
	"$ASK" "$WORK/c.sock" peer | grep -q leads=1
}

@test "a credential that is repeated, changed, another's, or for something else is refused" {
	two_users
	controller
	run -0 peer show good replayed tampered cut none nonsense foreign for-another-user for-everybody in-clear \
		for-another-address for-another-hello good
	[ "$output" = "good pong
replayed refused
tampered refused
cut refused
none refused
nonsense refused
foreign refused
for-another-user refused
for-everybody refused
in-clear refused
for-another-address refused
for-another-hello refused
good pong" ]
	grep -q "refused: MUNGE: Replayed credential" c.log
	grep -q "refused: MUNGE: Invalid credential" c.log
	grep -q "refused: the credential is of uid 21002, not of uid 0" c.log
	grep -q "refused: MUNGE: Unauthorized credential" c.log
	grep -q "refused: the credential is for another connection" c.log
}

@test "frames are sealed: one that is changed, repeated or bare ends the connection" {
	controller
	run -0 peer sealed
	[ "$output" = "repeated pong
repeated hung up
changed hung up
marked hung up
bare hung up" ]
}

@test "whoever takes the port of a controller that died learns nothing, and the node finds the next one" {
	two_users
	controller
	node 0 --munge="$MUNGED"
	until_true nodes_up 1
	kill -9 "${PIDS[1]}"
	until_true eval '! kill -0 "${PIDS[1]}" 2>/dev/null'
	cp "$SOURCE_DIR/tests/e2e/programs/"{frames,munge-peer}.py "$WORK"
	mkdir -m 777 "$WORK/theirs"
	run -0 setpriv --reuid 21002 --regid 21002 --clear-groups /usr/bin/python3 -B "$WORK/munge-peer.py" take 127.0.0.1 "${CONTROLLER##*:}" \
		"$MUNGED" "$WORK/theirs/credential"
	[ "$output" = "listening
unmunge: Error: Unauthorized credential for client UID=21002 GID=21002
hung up" ]
	until_true grep -q "controller=$CONTROLLER not there: whoever listens there cannot read a credential for this user" n0.log
	# Nor is what it has got of use for it at the next controller.
	rm -f "$WORK/c.sock"
	controller "${CONTROLLER##*:}"
	until_true nodes_up 1
}

@test "a munged that hangs holds up those who come, and nobody who is there" {
	controller
	node 0 --munge="$MUNGED"
	until_true nodes_up 1
	kill -STOP "${PIDS[0]}"
	node 1 --munge="$MUNGED"
	(umask 077 && head -c 24 /dev/urandom | base64 >secret)
	for _ in 1 2 3 4 5; do # its thread waits; the controller does not
		[ "$(timeout 5 "$ASK" "$WORK/c.sock" ping)" = pong ]
		sleep 0.1
	done
	nodes_up 1
	kill -CONT "${PIDS[0]}"
	until_true nodes_up 2
}
