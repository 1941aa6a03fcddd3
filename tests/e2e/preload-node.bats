# SPDX-License-Identifier: Apache-2.0
# The preloaded library and the life of the node: not there yet, gone, back again; programs that
# are left alone; what a program costs that does no I/O.
bats_require_minimum_version 1.5.0
load node

setup() {
	node_setup
	head -c 5000011 /dev/urandom >data
}

@test "without a node, I/O beneath the root fails in the end and other I/O does not" {
	TIMEOUT=0.2s
	run ! forwarded dd if=data of=root/out bs=1M status=none
	[[ "$output" == *"Input/output error"* ]]
	[ ! -s root/out ]
	forwarded dd if=data of=out bs=1M status=none
	cmp data out
}

@test "without a node, and with SLUICE_FALLBACK=direct, all goes directly and says so once" {
	TIMEOUT=0.2s
	export SLUICE_FALLBACK=direct SLUICE_LOG=$PWD/log
	forwarded dd if=data of=root/out bs=100k status=none
	cmp data root/out
	[ "$(grep -c 'no I/O node' log)" -eq 1 ]
	forwarded sh -c 'echo append >>root/out; cat root/out' | tail -n 1 | grep -q append
}

@test "a program that starts before its node waits for it" {
	forwarded dd if=data of=root/out bs=1M status=none &
	dd=$!
	sleep 0.3
	node_start
	wait $dd
	cmp data root/out
	[ "$(moved write)" -eq 5000011 ]
	node_stop
}

@test "the node is killed and started again under a program that writes: the file is right" {
	# So slow that it is still at it when a busy machine looks; the last node lets it end.
	node_start --capacity 300K
	forwarded dd if=data of=root/out bs=300k status=none &
	dd=$!
	for capacity in 300K 300K 1G; do
		await_write 100000
		kill -0 $dd # it is still at it
		kill_9
		sleep 0.1
		node_start --capacity $capacity
	done
	wait $dd
	cmp data root/out
	node_stop
}

@test "an append under which the node died fails, or was done once" {
	node_start --capacity 1M
	cat >append.py <<'END'
import os
fd = os.open('root/log', os.O_WRONLY | os.O_CREAT | os.O_APPEND)
done = failed = 0
for i in range(300):
    try:
        os.write(fd, b'%09d' % i + b'.' * 8990 + b'\n')
        done += 1
    except OSError as e:
        print(e)
        failed += 1
print(done, failed)
END
	forwarded python3 append.py >out &
	python=$!
	await_write 50000
	kill -9 "$NODE"
	wait "$NODE" || true
	node_start
	wait $python
	read -r done failed < <(tail -n 1 out)
	lines=$(wc -l <root/log)
	cat out
	[ "$failed" -le 1 ]
	[ "$lines" -ge "$done" ] && [ "$lines" -le 300 ]
	[ -z "$(cut -c 1-9 root/log | uniq -d)" ]
	node_stop
}

@test "a client that is killed leaves nothing behind in the node" {
	node_start --capacity 10M
	forwarded bash -c 'echo $$ >pid; exec dd if=/dev/zero of=root/out bs=1M count=100 status=none' &
	await_write 1000000
	kill -9 "$(cat pid)"
	wait $! || true
	for _ in $(seq 500); do
		[ "$(ls -l "/proc/$NODE/fd" | grep -c root/out)" -ne 0 ] || break
		sleep 0.01
	done
	[ "$(ls -l "/proc/$NODE/fd" | grep -c root/out)" -eq 0 ]
	"$ASK" "$SOCKET" status | jq -e '.requests == 0 and .jobs[0].clients == 0'
	node_stop
}

@test "a daemon that goes on without I/O does not keep its parent's files open" {
	node_start
	: >pid
	forwarded python3 -c "
import os, time
f = open('root/file', 'wb'); f.write(b'x' * 100000); f.flush()
if os.fork() == 0:
    print(os.getpid(), file=open('pid', 'w'), flush=True)
    time.sleep(600)
while not os.path.getsize('pid'):
    time.sleep(0.01)" 3>&- >/dev/null
	[ "$(ls -l "/proc/$NODE/fd" | grep -c root/file)" -eq 0 ] || failed=1
	kill "$(cat pid)"
	[ -z "${failed:-}" ]
	node_stop
}

@test "programs of the bypass list are left alone" {
	node_start
	SLUICE_BYPASS=cat,dd forwarded dd if=data of=root/out bs=1M status=none
	[ "$(moved write)" -eq 0 ]
	SLUICE_BYPASS=cat,d,ddd forwarded dd if=data of=root/out bs=1M status=none
	[ "$(moved write)" -eq 5000011 ]
	node_stop
}

@test "without settings the library does nothing" {
	env LD_PRELOAD="$PRELOAD" dd if=data of=root/out bs=1M status=none
	cmp data root/out
}

@test "a program that does no I/O opens nothing" {
	SLUICE_LOG=- run -0 --separate-stderr forwarded \
		python3 -c "import os; print(sorted(os.listdir('/proc/self/fd')))"
	plain=$(python3 -c "import os; print(sorted(os.listdir('/proc/self/fd')))")
	[ "$output" = "$plain" ]
	[ "$stderr" = "" ]
}

@test "only what is interposed is exported" {
	nm -D --defined-only "$PRELOAD" | awk '{ print $3 }' | sort >exported
	sed -n '/global:/,/local:/p' "$SOURCE_DIR/client/preload/preload.map" | grep -o '[A-Za-z_0-9]*;' | tr -d ';' |
		sort >wanted
	diff exported wanted
	# and each of them is libc's, but for those that programs may call: another name would interpose nothing
	nm -D --defined-only "$(ldd "$PRELOAD" | awk '/libc.so/ { print $3 }')" | awk '{ print $3 }' |
		sed 's/@.*//' | sort -u >libc
	[ "$(comm -23 wanted libc | tr '\n' ' ')" = \
		"sl_phase_begin sl_phase_end sl_preload_phase sl_preload_tag sl_tag_set " ]
}
