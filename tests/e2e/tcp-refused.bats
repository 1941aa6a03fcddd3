# SPDX-License-Identifier: Apache-2.0
# Who is not let in over TCP, what cannot be reached, and peers that mean no good: refused, logged,
# and nobody else notices.
bats_require_minimum_version 1.5.0
load node
load tcp

setup() {
	node_setup
	head -c 5000011 /dev/urandom >data
	cp data root/file
	INO=$(stat -c %i root/file)
}

teardown() {
	[ -z "${COPROC_PID:-}" ] || kill "$COPROC_PID" 2>/dev/null || true
	node_kill
}

# The node lives, and serves a client within a time that shows nobody is in its way.
serves() {
	rm -f root/out
	remote timeout 10 dd if=data of=root/out bs=64k status=none
	cmp data root/out
}

resident_kb() {
	awk '/VmRSS/ { print $2 }' "/proc/$NODE/status"
}

@test "a node does not start with a secret that others can read, or with none" {
	echo open >secret
	chmod 644 secret
	run ! tcp_start
	[[ "$output" == *"cannot use the secret"*"0600"* ]]
	: >secret
	chmod 600 secret
	run ! tcp_start
	[[ "$output" == *"cannot use the secret"*"one line"* ]]
	run ! "$SLUICED" ionode --root root --socket s --listen 127.0.0.1:0
	[[ "$output" == *"missing option '--secret-file'"* ]]
	[ ! -e socket ]
}

@test "without the right secret nobody gets in, and the log says so" {
	tcp_start
	[ "$(peer guess)" = "$(printf 'EACCES\nEACCES\nEACCES\nEACCES')" ]
	[ "$(logged 'refused: the secret is not the right one')" -eq 4 ]
	(umask 077 && echo wrong-and-long-enough >wrong)
	SECRET=$PWD/wrong run ! remote dd if=data of=root/out status=none
	[[ "$output" == *"Input/output error"* ]]
	[ ! -s root/out ]
	chmod 644 secret
	SLUICE_LOG=- run ! remote dd if=data of=root/out status=none
	[[ "$output" == *"cannot use the secret"* ]]
	chmod 600 secret
	serves
}

@test "a frame whose seal is wrong, or that comes again, is not obeyed" {
	tcp_start
	peer forged
	[ "$(logged 'Bad message')" -ge 6 ]
	serves
}

@test "whoever takes the port of a dead node learns nothing and gets no data" {
	tcp_start
	serves
	node_kill
	coproc peer impostor "$PWD/loot"
	read -r -t 30 _ <&"${COPROC[0]}"
	printf 'valuable%.0s' $(seq 20000) >valuable
	SLUICE_TIMEOUT=5 SLUICE_LOG=- run ! remote timeout 60 dd if=valuable of=root/out bs=64k status=none
	[[ "$output" == *"does not know our secret"* ]]
	eval "exec ${COPROC[1]}>&-"
	wait "$COPROC_PID" || true
	[ -s loot ] # it was tried
	run ! grep -aqF "$(cat secret)" loot
	run ! grep -aq valuable loot
	run ! grep -aq MORE loot # nothing after the first frame
}

@test "no path leads out of the root, and only regular files are opened" {
	tcp_start
	echo outside >outside
	ln -s ../outside root/link
	ln -s . root/self
	ln root/file root/hard
	mkdir root/dir
	mkfifo root/fifo
	out=$(stat -c %i outside)
	[ "$(peer open file "$INO" 0 1 2)" = "$(printf 'opened\nopened\nopened')" ]
	[ "$(peer open ./dir/../hard "$INO" 0)" = opened ]
	[ "$(peer open self/file "$INO" 0)" = opened ]
	[ "$(peer open ../outside "$out" 0)" = EXDEV ]
	[ "$(peer open dir/../../outside "$out" 0)" = EXDEV ]
	[ "$(peer open "$PWD/outside" "$out" 0)" = EXDEV ]
	[ "$(peer open link "$out" 0)" = EINVAL ]
	[ "$(peer open self/../../outside "$out" 0)" = EXDEV ]
	[ "$(peer open dir "$(stat -c %i root/dir)" 0)" = EINVAL ]
	[ "$(peer open fifo "$(stat -c %i root/fifo)" 0 1)" = "$(printf 'EINVAL\nEINVAL')" ]
	[ "$(peer open /proc/self/fd/0 1 0)" = EXDEV ]
	[ "$(peer open 'file\x00' "$INO" 0)" = EINVAL ]
	[ "$(peer open file $((INO + 1)) 0)" = ESTALE ]
	[ "$(peer open none 1 0)" = ENOENT ]
	[ "$(peer open '' 1 0)" = EBADF ]
	# O_CREAT, O_TRUNC, O_PATH, O_TMPFILE, and an access mode that is none
	[ "$(peer open file "$INO" 0o101 0o1001 0o10000000 0o20200002 3 | sort -u)" = EINVAL ]
	cmp data root/file
	serves
	node_stop
}

@test "random, truncated, oversized and replayed frames are refused and logged" {
	tcp_start
	for kind in random truncated oversized replayed; do
		peer $kind
		serves
	done
	[ "$(logged 'refused: Protocol error')" -gt 10 ]
	[ "$(resident_kb)" -lt 200000 ]
}

@test "a thousand strangers who say nothing keep nobody out" {
	tcp_start
	ulimit -n 4096
	coproc peer silent 1000
	read -r -t 30 _ <&"${COPROC[0]}"
	serves
	[ "$(logged 'refused: Too many users')" -ge 1 ]
	[ "$(ls "/proc/$NODE/fd" | wc -l)" -lt 400 ]
}

@test "clients that send half a write, or take nothing, cost the others little" {
	tcp_start
	serves
	for kind in "half 20" "greedy 20 file $INO"; do
		coproc peer $kind
		read -r -t 60 _ <&"${COPROC[0]}"
		serves
		[ "$(resident_kb)" -lt 200000 ]
		eval "exec ${COPROC[1]}>&-"
		wait "$COPROC_PID" || true
	done
	serves
}

@test "a single client that asks for more at once than there is room for is not left waiting" {
	tcp_start
	[ "$(peer burst file "$INO")" -lt 8 ] # ten bursts; each waited for seconds
	node_stop
}

@test "a client that is killed leaves nothing at the node" {
	tcp_start --capacity 1M
	# The node keeps what it needs for a first client.
	remote dd if=/dev/zero of=root/small bs=1k count=1 status=none
	for _ in $(seq 500); do
		[ "$(logged disconnected)" -eq 0 ] || break
		sleep 0.02
	done
	before=$(ls "/proc/$NODE/fd" | wc -l)
	remote dd if=/dev/zero of=root/big bs=1M count=100 status=none &
	dd=$!
	for _ in $(seq 500); do
		[ "$("$ASK" "$SOCKET" status | jq .requests)" -ge 4 ] && break
		sleep 0.02
	done
	kill -9 "$(pgrep -P $dd || echo $dd)"
	wait $dd || true
	for _ in $(seq 500); do
		[ "$("$ASK" "$SOCKET" status | jq .requests)" -eq 0 ] &&
			[ "$(ls "/proc/$NODE/fd" | wc -l)" -le "$before" ] && break
		sleep 0.02
	done
	[ "$("$ASK" "$SOCKET" status | jq .requests)" -eq 0 ]
	[ "$(ls "/proc/$NODE/fd" | wc -l)" -le "$before" ]
	node_stop
}
