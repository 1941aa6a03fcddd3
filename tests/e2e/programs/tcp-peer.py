# SPDX-License-Identifier: Apache-2.0
"""A peer of a node over TCP that is written from sluice-protocol(7) alone, for good or bad.

    tcp-peer.py KIND HOST PORT SECRET_FILE [ARGUMENTS]

    many N FILE...   N connections at once, each with more under way than the node has buffers
                     for; FILE.0, FILE.1, ... are written, read back and compared
    open PATH INO FLAGS...   what the node answers to OPEN, one word a line
    guess            wrong secrets: none, a prefix, a longer one; prints the answers
    random           bytes, and good frames with bytes changed
    truncated        a HELLO that ends early
    oversized        lengths that nobody may send or ask for
    replayed         frames twice, out of order, before HELLO, or the node's own
    silent N         N connections that say nothing, until end of input
    half N           N clients that send half of a write, until end of input
    greedy N PATH INO  N clients that read much and take nothing, until end of input

Exits with 1 if the node has not done what it has to.
"""
import errno
import os
import random
import selectors
import socket
import struct
import sys

HELLO, WELCOME, REPLY, OPEN, CLOSE, PREAD, PWRITE, FSYNC, CONTROL = range(1, 10)
APPEND = 1
PIECE = 131072


def frame(kind, payload=b"", flags=0, tag=0, file=0, offset=0, count=0, length=None):
    return struct.pack("<IHHIiQQQQQQ", 0x31554C53, kind, flags,
                       len(payload) if length is None else length, 0, tag, 0, file, offset,
                       count, 0) + payload


def hello(secret, job=b"peer"):
    return frame(HELLO, struct.pack("<IIIIQQQqIII64s64s", 3, 0, os.getpid(), 0, 0, 0, 0, 0, 0, 0,
                                    0, job, secret), tag=1)


class Gone(Exception):
    pass


class Peer:
    def __init__(self, secret=None):
        self.sock = socket.create_connection((host, port))
        self.sock.settimeout(20)
        if secret is not None:
            self.send(hello(secret))
            kind, status, _, _ = self.reply()
            if kind != WELCOME:
                raise Gone(errno.errorcode[status])

    def send(self, data):
        try:
            self.sock.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise Gone("hung up")

    def receive(self, n):
        data = b""
        while len(data) < n:
            try:
                part = self.sock.recv(n - len(data))
            except ConnectionResetError:
                part = b""
            if not part:
                raise Gone("hung up")
            data += part
        return data

    def reply(self):
        head = struct.unpack("<IHHIiQQQQQQ", self.receive(64))
        assert head[0] == 0x31554C53, "not a frame"
        return head[1], head[4], head, self.receive(head[3])

    def open(self, path, ino, flags=os.O_RDWR):
        self.send(frame(OPEN, path, tag=2, offset=ino, count=flags))
        _, status, head, _ = self.reply()
        if status:
            raise OSError(status, os.strerror(status))
        return head[7]


def must_hang_up(what, data, secret=None):
    try:
        p = Peer(secret)
        p.send(data)
        while True:
            p.reply()
    except Gone:
        return
    except socket.timeout:
        sys.exit("not hung up on: " + what)


def on_many(count, name):
    """All connections send at once; replies are taken as they come."""
    count = int(count)
    pieces, select, peers = 12, selectors.DefaultSelector(), []
    for i in range(count):
        p = Peer(secret)
        p.path = "%s.%d" % (name, i)
        p.data = random.Random(i).randbytes(pieces * PIECE)
        fd = os.open(p.path, os.O_RDWR | os.O_CREAT, 0o600)
        p.file = p.open(os.path.basename(p.path).encode(), os.fstat(fd).st_ino)
        os.close(fd)
        peers.append(p)
    for kind in (PWRITE, PREAD):
        for p in peers:
            p.out = b"".join(
                frame(kind, p.data[k * PIECE:(k + 1) * PIECE] if kind == PWRITE else b"",
                      tag=k, file=p.file, offset=k * PIECE, count=PIECE)
                for k in range(pieces))
            p.input, p.left = b"", pieces
            p.sock.setblocking(False)
            select.register(p.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, p)
        while select.get_map():
            for key, events in select.select(60) or sys.exit("nothing happens for a minute"):
                step(select, key.data, events, kind)
    for p in peers:
        if open(p.path, "rb").read() != p.data:
            sys.exit("wrong data in " + p.path)


def step(select, p, events, kind):
    if events & selectors.EVENT_WRITE:
        p.out = p.out[p.sock.send(p.out[:1 << 20]):]
        if not p.out:
            select.modify(p.sock, selectors.EVENT_READ, p)
    if events & selectors.EVENT_READ:
        p.input += p.sock.recv(1 << 20) or sys.exit("hung up")
        while len(p.input) >= 64:
            head = struct.unpack("<IHHIiQQQQQQ", p.input[:64])
            whole = 64 + head[3]
            if len(p.input) < whole:
                break
            if head[4] or head[9] != PIECE:
                sys.exit("status %d, count %d" % (head[4], head[9]))
            at = head[5] * PIECE
            if kind == PREAD and p.input[64:whole] != p.data[at:at + PIECE]:
                sys.exit("wrong data")
            p.input = p.input[whole:]
            p.left -= 1
        if p.left == 0:
            select.unregister(p.sock)


def on_open(path, ino, *flags):
    p = Peer(secret)
    for value in flags:
        try:
            p.open(path.encode().decode("unicode_escape").encode(), int(ino), int(value, 0))
            print("opened")
        except OSError as e:
            print(errno.errorcode[e.errno])


def on_guess():
    for wrong in (b"", secret[:-1], secret + b"x", secret.swapcase()):
        try:
            Peer(wrong)
            sys.exit("let in")
        except Gone as e:
            print(e)


def on_random():
    good = hello(secret) + frame(OPEN, b"file", tag=1) + frame(PREAD, tag=2, file=1, count=1)
    for i in range(200):
        r = random.Random(i)
        data = bytearray(good * 3)
        for _ in range(r.randrange(1, 20)):
            data[r.randrange(len(data))] = r.randrange(256)
        p = Peer()
        try:
            p.send(bytes(data))
        except Gone:
            pass
        p.sock.close()
        must_hang_up("random bytes", r.randbytes(r.randrange(64, 5000)))


def on_truncated():
    whole = hello(secret)
    for n in range(0, len(whole), 7):
        p = Peer()
        p.send(whole[:n])
        p.sock.shutdown(socket.SHUT_WR)
        try:
            p.reply()
            sys.exit("answered to %d bytes" % n)
        except Gone:
            pass


def on_oversized():
    must_hang_up("a long HELLO", frame(HELLO, b"x" * 4096))
    must_hang_up("a long write", frame(PWRITE, b"x" * (PIECE + 1), file=1, count=PIECE + 1), secret)
    must_hang_up("a longer write", frame(PWRITE, file=1, count=1 << 22, length=1 << 22), secret)
    must_hang_up("4 GiB", frame(PWRITE, file=1, count=0xFFFFFFFF, length=0xFFFFFFFF), secret)
    must_hang_up("count is not length", frame(PWRITE, b"xx", file=1, count=1), secret)
    must_hang_up("a long read", frame(PREAD, file=1, count=PIECE + 1), secret)
    must_hang_up("a read of nothing", frame(PREAD, file=1, count=0), secret)
    must_hang_up("a long line", frame(CONTROL, b"x" * 8192), secret)
    must_hang_up("a long path", frame(OPEN, b"x" * 4096), secret)
    must_hang_up("a CLOSE with payload", frame(CLOSE, b"x"), secret)


def on_replayed():
    must_hang_up("HELLO twice", hello(secret), secret)
    must_hang_up("a read before HELLO", frame(PREAD, file=1, count=1))
    must_hang_up("a line before HELLO", frame(CONTROL, b"status"))
    must_hang_up("WELCOME", frame(WELCOME, b"\0" * 56), secret)
    must_hang_up("REPLY", frame(REPLY), secret)
    p = Peer(secret)
    # Files that are not there, and the same tag for all: answered, and the connection lives.
    for file in (0, 1, 2, 65536, 65537, 1 << 63):
        for f in (frame(PREAD, tag=5, file=file, count=1), frame(FSYNC, tag=5, file=file),
                  frame(PWRITE, b"x", tag=5, file=file, count=1)):
            p.send(f + frame(CLOSE, file=file))
            _, status, head, _ = p.reply()
            everything = file == 0 and f[4] == FSYNC
            if status != (0 if everything else errno.EBADF) or head[5] != 5:
                sys.exit("status %d" % status)
    p.send(frame(CONTROL, b"ping", tag=9))
    if p.reply()[3] != b"pong":
        sys.exit("no pong")


def hold(peers):
    print("ready", flush=True)
    sys.stdin.read()
    return peers


def on_silent(count):
    hold([Peer() for _ in range(int(count))])


def on_half(count):
    peers = [Peer(secret) for _ in range(int(count))]
    for p in peers:
        p.send(frame(PWRITE, b"x" * 1000, file=1, count=PIECE, length=PIECE))
    hold(peers)


def on_greedy(count, path, ino):
    peers = [Peer(secret) for _ in range(int(count))]
    for p in peers:
        p.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        file = p.open(path.encode(), int(ino))
        p.sock.setblocking(False)
        requests = frame(PREAD, file=file, count=PIECE) * 4096
        try:
            while True:
                p.sock.send(requests)
        except BlockingIOError:
            pass
    hold(peers)


kind, host, port, secret_file = sys.argv[1:5]
port = int(port)
secret = open(secret_file, "rb").read().rstrip(b"\n")
globals()["on_" + kind](*sys.argv[5:])
