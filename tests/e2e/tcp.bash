# SPDX-License-Identifier: Apache-2.0
# For tests with a node that listens on TCP: load it after `node`, then
#
#	tcp_start [OPTIONS]   node_start with a port (the same one each time) and a secret
#	remote CMD…           run CMD with the preloaded library, over TCP
#	peer KIND [ARG…]      programs/tcp-peer.py against the node
#	logged TEXT           how many lines of the node's log hold it

tcp_start() {
	[ -f "$BATS_TEST_TMPDIR/secret" ] ||
		(umask 077 && head -c 24 /dev/urandom | base64 >"$BATS_TEST_TMPDIR/secret")
	SECRET=$BATS_TEST_TMPDIR/secret
	node_start --listen "127.0.0.1:${PORT:-0}" --secret-file "$SECRET" "$@" || return
	PORT=$(sed -n 's/.*tcp=127.0.0.1:\([0-9]*\) listening.*/\1/p' "$BATS_TEST_TMPDIR/node.log" |
		tail -n 1)
}

remote() {
	SLUICE_SECRET_FILE=$SECRET SOCKET=tcp:127.0.0.1:$PORT forwarded "$@"
}

peer() {
	timeout 100 python3 "$SOURCE_DIR/tests/e2e/programs/tcp-peer.py" "$1" 127.0.0.1 "$PORT" \
		"$SECRET" "${@:2}"
}

logged() {
	grep -c -- "$1" "$BATS_TEST_TMPDIR/node.log"
}
