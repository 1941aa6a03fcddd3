# SPDX-License-Identifier: Apache-2.0
# What shows the library to its users works: the example server, the example of libsluice(3),
# the header in C++.
bats_require_minimum_version 1.5.0

setup() {
	cd "$BATS_TEST_TMPDIR"
	export DATA=$PWD/data SOCKET=$PWD/sock
	mkfifo input
}

teardown() {
	[ -z "${server:-}" ] || kill "$server" 2>/dev/null || true
}

# The server ends with its input, which is descriptor 9 of the test.
serve() {
	"$BUILD_DIR/examples/example-server" "$DATA" "$SOCKET" <input >log 2>&1 3>&- &
	server=$!
	exec 9>input
	for _ in $(seq 500); do
		[ ! -S "$SOCKET" ] || return 0
		kill -0 "$server" || break
		sleep 0.02
	done
	cat log
	return 1
}

finish() {
	exec 9>&-
	wait "$server"
	server=
	[ ! -e "$SOCKET" ]
	[ ! -s log ] || { cat log; false; }
}

# Run the Python program on standard input, with a client that knows the protocol.
client() {
	cat >client.py <<'END'
import hashlib, os, socket, sys, threading, time

class Client:
    def __init__(self):
        self.s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.s.settimeout(60)
        self.s.bind("")
        self.s.connect(os.environ["SOCKET"])
    def ask(self, line, data=b""):
        self.s.send(line.encode() + b"\n" + data)
        return self
    def answer(self):
        head, _, data = self.s.recv(1 << 17).partition(b"\n")
        return head.decode(), data
    def call(self, line, data=b""):
        return self.ask(line, data).answer()

def check(got, wanted):
    if got != wanted:
        sys.exit(f"got {got!r}, wanted {wanted!r}")

END
	cat >>client.py
	python3 client.py
}

@test "what many clients write is in the file and is what they read" {
	serve
	client <<'END'
BLOCK, EACH, CLIENTS = 4096, 100, 8

def block(k, i):
    return hashlib.sha256(b"%d %d" % (k, i)).digest() * (BLOCK // 32)

def work(k, failed):
    try:
        c = Client()
        for i in range(EACH):
            at = (i * CLIENTS + k) * BLOCK
            check(c.call(f"write {k % 3} {at}", block(k, i)), (f"OK {BLOCK}", b""))
            check(c.call(f"read {k % 3} {at} {BLOCK}"), (f"OK {BLOCK}", block(k, i)))
    except BaseException as e:
        failed.append(e)

failed = []
threads = [threading.Thread(target=work, args=(k, failed)) for k in range(CLIENTS)]
for t in threads: t.start()
for t in threads: t.join()
check(failed, [])
wanted = b"".join(block(k, i) for i in range(EACH) for k in range(CLIENTS))
check(open(os.environ["DATA"], "rb").read() == wanted, True)
END
	finish
}

@test "a read at the end of the file is short, one behind it empty" {
	printf 0123456789 >data
	serve
	client <<'END'
c = Client()
check(c.call("read 1 4 100"), ("OK 6", b"456789"))
check(c.call("read 1 10 100"), ("OK 0", b""))
END
	finish
}

@test "a job is held to its limit, and another is not" {
	serve
	# Not contiguous, so that they are not merged: a batch may be larger than the burst, and goes.
	client <<'END'
check(Client().call("limit 1 2000000"), ("OK 0", b""))
begin = time.monotonic()
limited = [Client().ask(f"write 1 {i * 60000}", bytes(50000)) for i in range(20)]
free = [Client().call(f"write 2 {i}", b"x") for i in range(20)]
check(free, [("OK 1", b"")] * 20)
for c in limited: check(c.answer(), ("OK 50000", b""))
took = time.monotonic() - begin
if took < 0.25: sys.exit(f"1 MB at 2 MB/s took {took} s")
END
	finish
}

@test "all that was asked is answered when the server ends" {
	serve
	mkfifo asked
	client <<'END' &
check(Client().call("limit 1 400000"), ("OK 0", b""))
limited = [Client().ask(f"write 1 {i * 20000}", bytes(10000)) for i in range(20)]
check(Client().call("limit 2 0"), ("OK 0", b"")) # what was sent before this has been taken in
open("asked", "w").close()
for c in limited: check(c.answer(), ("OK 10000", b""))
END
	: <asked
	finish
	wait $!
	[ "$(stat -c %s data)" -eq 390000 ]
}

@test "nonsense is refused and hurts nobody" {
	serve
	client <<'END'
c = Client()
for line in "", "read", "read 1 2", "read 1 0 65537", "read 1 0 0", "erase 1 0 1", "read x y z", \
            "limit 1", "limit 1 99999999999999999999", "x" * 500, f"read 1 {2**64 - 1} 10":
    head, data = c.call(line)
    if not head.startswith("ERR "): sys.exit(f"{line}: {head}")
c.s.send(b"")
check(c.answer()[0][:4], "ERR ")
check(c.call("write 1 0", b"")[0][:4], "ERR ")
check(c.call("write 1 0", b"fine"), ("OK 4", b""))
check(c.call("read 1 0 4"), ("OK 4", b"fine"))
END
	finish
}

@test "a file that cannot be opened and a bad socket are told" {
	run -1 "$BUILD_DIR/examples/example-server" "$PWD/none/data" sock
	[[ "$output" == "$PWD/none/data: "* ]]
	run -1 "$BUILD_DIR/examples/example-server" data "$PWD/none/sock"
	[[ "$output" == "$PWD/none/sock: "* ]]
}

@test "the example of libsluice(3), as it is printed, compiles and does what it says" {
	MANWIDTH=120 LC_ALL=C man -l "$BUILD_DIR/man/libsluice.3" |
		sed -n '/#include <stdio.h>/,/^ *A small file server/p' | sed '$d' >example.c
	sanitize=$(jq -r '.[] | select(.name == "b_sanitize") | .value' \
		"$BUILD_DIR/meson-info/intro-buildoptions.json")
	[ "$sanitize" = none ] && sanitize= || sanitize=-fsanitize=$sanitize
	library=$(dirname "$(find "$BUILD_DIR" -name libsluice.so)")
	$CC -std=c99 -pedantic -Wall -Wextra -Werror $sanitize -I"$SOURCE_DIR/include" -o example \
		example.c -L"$library" -Wl,-rpath,"$library" -lsluice
	run -0 ./example
	[ "${lines[0]}" = "3 requests, 12288 bytes" ]
	[ "$(printf '%s\n' "${lines[@]:1}" | sort)" = "client 0: 4096 bytes
client 1: 4096 bytes
client 2: 4096 bytes" ]
}

@test "the header can be used from C++" {
	cat >user.cc <<'END'
#include <sluice.h>
int main()
{
	sl_service_config config = {};
	sl_service *service;
	sl_request r = {};

	r.op = SL_WRITE;
	return sl_service_start(&service, &config, nullptr, 0) == 0 || sl_service_submit(service, &r);
}
END
	clang -x c++ -std=c++17 -Wall -Wextra -pedantic -Werror -I"$SOURCE_DIR/include" -c user.cc
	# C names, not mangled
	nm user.o | grep -q ' U sl_service_submit$'
}

@test "the server says how it is used, and makes no file of an option" {
	run -0 --separate-stderr "$BUILD_DIR/examples/example-server" --help </dev/null
	[[ "$output" == "usage: "*"example-server [FILE [SOCKET]]" ]]
	run -2 --separate-stderr "$BUILD_DIR/examples/example-server" --port </dev/null
	[[ "$stderr" == "usage: "* ]]
	[ -z "$(find . -name '*example*' -o -name '*--*')" ]
}
