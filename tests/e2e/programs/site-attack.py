#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a hostile user can try on a layer for all users: site-attack.py KIND SOCKET [ARGUMENT]...

Each kind prints what came of it. site.bats says what is right.
"""
import array
import os
import socket
import struct
import sys
import time

CONTROL = 9
HEAD = struct.Struct("<IHHIiQQQQQQ")  # wire/proto.h


def dial(path):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.settimeout(20)
    s.connect(path)
    return s


def frame(line):
    return HEAD.pack(0x31554C53, CONTROL, 0, len(line), 0, 1, 0, 0, 0, 0, 0) + line


def receive(s, length):
    got = b""
    while len(got) < length:
        more = s.recv(length - len(got))
        if not more:
            raise ConnectionError
        got += more
    return got


def answer(s):
    head = HEAD.unpack(receive(s, HEAD.size))
    return head[4], receive(s, head[3]).decode(errors="replace")


def ask(s, line):
    s.sendall(frame(line))
    return answer(s)


def raw(path, line):
    """One line, with escapes as Python has them. Prints the status and the text."""
    status, text = ask(dial(path), line.encode().decode("unicode_escape").encode("latin-1"))
    print(status, text)


def jobs(path, count):
    s = dial(path)
    print(sum(ask(s, b"job n%d" % i)[0] == 0 for i in range(int(count))))


def holders(path, count):
    s = dial(path)
    print(sum(ask(s, b"job h pid=%d" % os.getpid())[0] == 0 for _ in range(int(count))))


def descriptors(path, count):
    s = dial(path)
    fds = [os.open("/dev/null", os.O_RDONLY) for _ in range(8)]
    rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
    done = 0
    for _ in range(int(count)):
        s.sendmsg([frame(b"ping")], rights)
        done += answer(s)[0] == 0
    print(done)
    time.sleep(0.2)


def unread(path, count):
    """Questions whose answers nobody reads, for as long as the node takes them."""
    s = dial(path)
    s.settimeout(0.3)
    sent = 0
    try:
        for _ in range(int(count)):
            s.sendall(frame(b"status"))
            sent += 1
    except TimeoutError:
        pass
    print(sent < int(count))


def connections(path, count):
    """How many of so many are served at once."""
    some = []
    served = 0
    for _ in range(int(count)):
        try:
            s = dial(path)
            served += ask(s, b"ping")[0] == 0
            some.append(s)
        except OSError:
            pass
    print(served)


def flood(path, seconds):
    """All that is answered, as fast as it is, over 16 connections."""
    some = [dial(path) for _ in range(16)]
    end = time.monotonic() + float(seconds)
    done = 0
    while time.monotonic() < end:
        for s in some:
            s.sendall(frame(b"status") + frame(b"job f"))
        for s in some:
            answer(s)
            done += answer(s)[0] == 0
    print(done)


def size(path, name, length):
    """Cut or grow a file that is the user's to write to."""
    del path
    os.truncate(name, int(length))
    print(os.stat(name).st_size)


def serve(path, ready):
    """In the place of a node: what do clients tell?"""
    s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    s.bind(path)
    os.chmod(path, 0o777)
    s.listen()
    s.settimeout(20)
    open(ready, "w").close()
    got = 0
    for wait in (20, 2):  # the second may see that it is not the node, and not come
        s.settimeout(wait)
        try:
            c, _ = s.accept()
        except TimeoutError:
            break
        c.settimeout(5)
        while True:
            data, fds, _, _ = socket.recv_fds(c, 4096, 8)
            got += len(data) + len(fds)
            if not data:
                break
    print(got)


kinds = {f.__name__: f for f in (raw, jobs, holders, descriptors, unread, connections, flood, size, serve)}
kinds[sys.argv[1]](*sys.argv[2:])
