# SPDX-License-Identifier: Apache-2.0
"""A peer of a controller that is written from sluice-protocol(7) alone, for good or bad.

    controller-peer.py KIND SOCKET [HOST PORT]

    random     bytes, frames that are too long, reports that make no sense
    many       a node with 4096 jobs whose names are as long as they can be
    slow       it asks for much and takes nothing; others are answered meanwhile
    silent     300 connections over TCP that say nothing
    twin       two nodes of one name; prints what the second is told
    come       more nodes than a controller can have come and go, one after the other
    quiet      a node reports once and never again, its connection stays; prints how many seconds
               the controller takes it for up
    found      a controller itself, at SOCKET: it has found a period of 2 s of job 7; until end of input

Exits with 1 if the controller has not done what it has to.
"""
import json
import os
import random
import select
import socket
import struct
import sys
import time

REPLY, CONTROL = 3, 9


def frame(payload, length=None):
    return struct.pack("<IHHIiQQQQQQ", 0x31554C53, CONTROL, 0,
                       len(payload) if length is None else length, 0, 7, 0, 0, 0, 0, 0) + payload


def report(node, jobs="", life=1):
    return frame(f"report\nnode name={node} life={life} socket=/s capacity=1000\n{jobs}".encode())


def connect():
    sock = socket.socket(socket.AF_UNIX)
    sock.settimeout(20)
    sock.connect(path)
    return sock


def receive(sock, n):
    data = b""
    while len(data) < n:
        part = sock.recv(min(n - len(data), 1 << 16))
        if not part:
            raise EOFError
        data += part
    return data


def answer(sock):
    head = struct.unpack("<IHHIiQQQQQQ", receive(sock, 64))
    assert head[1] == REPLY
    return head[4], receive(sock, head[3])


def ask(line):
    with connect() as sock:
        sock.sendall(frame(line.encode()))
        return answer(sock)


def status():
    code, text = ask("status")
    assert code == 0
    return json.loads(text)


def be_random():
    for _ in range(100):
        with connect() as sock:
            try:
                sock.sendall(os.urandom(random.randint(1, 3000)))
            except OSError:
                pass
    for text in ("job id=1 name=a\n", "node name=\n", "node name=0\nnode name=1\n",
                 "node name=0\njob id=1 name=a clients=-1\n", "node life=1\n", "node name=a,b\n"):
        with connect() as sock:
            sock.sendall(frame(b"report\n" + text.encode()))
            assert sock.recv(1) == b"", text
    with connect() as sock:
        sock.sendall(frame(b"x", length=0xffffffff))
        assert sock.recv(1) == b""
    assert ask("ping") == (0, b"pong")
    assert not any(node["up"] for node in status()["ionodes"])


def be_many():
    jobs = "".join(f"job id={i} name={i:063} title={i:063} clients=1 written={10**18} read={10**18}"
                   f" queued={10**18} idle={10**18}\n" for i in range(1, 4097))
    with connect() as sock:
        sock.sendall(report("0", jobs))
        code, orders = answer(sock)
        assert code == 0 and orders.count(b"\njob ") == 4096
        assert len(status()["jobs"]) == 4096


def be_slow():
    with connect() as node, connect() as slow:
        node.sendall(report("0", "".join(f"job id={i} name={i} clients=1\n" for i in range(1, 3000))))
        answer(node)
        slow.sendall(frame(b"status") * 3)
        for _ in range(20):
            assert ask("ping") == (0, b"pong")
        for _ in range(3): # and it gets all of it, when it wants
            code, text = answer(slow)
            assert code == 0 and len(json.loads(text)["jobs"]) == 2999


def be_silent():
    socks = [socket.create_connection((sys.argv[3], int(sys.argv[4]))) for _ in range(300)]
    assert ask("ping") == (0, b"pong")
    open_fds = f"/proc/{status()['pid']}/fd"
    end = time.monotonic() + 20
    while len(os.listdir(open_fds)) > 100 and time.monotonic() < end:
        time.sleep(0.05)
    assert len(os.listdir(open_fds)) <= 100
    while len(os.listdir(open_fds)) > 20 and time.monotonic() < end:
        time.sleep(0.05)
    assert len(os.listdir(open_fds)) <= 20
    assert len(socks) == 300


def be_twin():
    with connect() as first, connect() as second:
        first.sendall(report("0", life=1))
        assert answer(first)[0] == 0
        first.sendall(report("0", life=1))
        second.sendall(report("0", life=2))
        code, text = answer(second)
        assert code != 0 and second.recv(1) == b""
        print(text.decode())
        assert [node["up"] for node in status()["ionodes"]] == [True]


def be_come():
    for i in range(80):
        with connect() as node:
            node.sendall(report(f"n{i}"))
            assert answer(node)[0] == 0, i
        while any(node["up"] for node in status()["ionodes"]):
            time.sleep(0.01)


def be_quiet():
    with connect() as node:
        node.sendall(report("0"))
        start = time.monotonic()
        while not status()["ionodes"]:
            time.sleep(0.01)
        while status()["ionodes"][0]["up"]:
            time.sleep(0.1)
            assert time.monotonic() < start + 60
        print(round(time.monotonic() - start))


def be_found():
    orders = b"epoch number=1\njob id=7 grant=18446744073709551615 period=2000000000 share=1000000\n"
    reply = struct.pack("<IHHIiQQQQQQ", 0x31554C53, REPLY, 0, len(orders), 0, 0, 0, 0, 0, 0, 0) + orders
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        node, _ = listener.accept()
        while not select.select([sys.stdin], [], [], 0.05)[0]:
            if select.select([node], [], [], 0)[0]:
                node.recv(1 << 16)
            node.sendall(reply)


kind, path = sys.argv[1:3]
globals()["be_" + kind]()
