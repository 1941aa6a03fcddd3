# SPDX-License-Identifier: Apache-2.0
"""A peer of a node over TCP that is written from sluice-protocol(7) alone, for good or bad.

    tcp-peer.py KIND HOST PORT SECRET_FILE [ARGUMENTS]

    many N FILE...   N connections at once, each with more under way than the node has buffers
                     for; FILE.0, FILE.1, ... are written, read back and compared
    crowd FILE       many busy peers are told so; requests whose stamps are too old
    open PATH INO FLAGS...   what the node answers to OPEN, one word a line
    guess            wrong secrets: none, a prefix, a longer one; prints the answers
    forged           frames with a seal that is wrong, repeated, or for other bytes
    impostor FILE    listens at PORT as a node that does not know the secret, until end of input;
                     what it is sent goes to FILE
    random           bytes, and good frames with bytes changed
    truncated        a HELLO that ends early
    oversized        lengths that nobody may send or ask for
    replayed         frames twice, out of order, before HELLO, or the node's own
    silent N         N connections that say nothing, until end of input
    half N           N clients that send half of a write, until end of input
    greedy N PATH INO  N clients that read much and take nothing, until end of input
    burst PATH INO   more at once than the node takes of one client, after a pause; prints seconds

Exits with 1 if the node has not done what it has to.
"""
import errno
import os
import random
import selectors
import socket
import struct
import sys
import time

from frames import *


class Gone(Exception):
    pass


class Peer:
    def __init__(self, secret=None):
        self.sock = socket.create_connection((host, port))
        self.sock.settimeout(20)
        self.sealed = None
        self.stamp = 0
        if secret is not None:
            self.greet(secret)

    def greet(self, secret):
        first = hello()
        self.sock.sendall(first)
        kind, status, _, challenge = self.reply()
        if kind != CHALLENGE:
            raise Gone(errno.errorcode[status])
        nonce, proof = challenge[:64], challenge[64:]
        self.proved = proof == keyed(secret, b"sluice 4 node", first[64:], nonce)
        self.sock.sendall(frame(PROOF, keyed(secret, b"sluice 4 client", first[64:], nonce), tag=1))
        keys = keyed(secret, b"sluice 4 keys", first[64:], nonce)
        self.sealed = Seal(keys[:16]), Seal(keys[16:])
        kind, status, _, _ = self.reply(greeting=True)
        if kind != WELCOME:
            raise Gone(errno.errorcode[status])
        if not self.proved:
            sys.exit("the node has not proved that it knows the secret")

    def seal(self, data):
        """Put a seal into each whole frame of data; what follows is left as it is."""
        out = b""
        while self.sealed and len(data) >= 64:
            length = struct.unpack("<I", data[8:12])[0]
            out += data[:64] + self.sealed[0].of(data[:64], self.stamp, data[64:64 + length])
            out += data[64:64 + length]
            data = data[64 + length:]
        return out + data

    def send(self, data):
        self.send_raw(self.seal(data))

    def send_raw(self, data):
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

    def reply(self, greeting=False):
        raw = self.receive(64)
        head = struct.unpack("<IHHIiQQQQQQ", raw)
        assert head[0] == 0x31554C53, "not a frame"
        sealed = self.sealed and not (greeting and head[1] == REPLY)
        tail = self.receive(16) if sealed else b""
        payload = self.receive(head[3])
        if sealed:
            self.check(raw, tail, payload)
        return head[1], head[4], head, payload

    def check(self, raw, tail, payload):
        self.stamp = struct.unpack("<Q", tail[:8])[0]
        assert self.sealed[1].of(raw, self.stamp, payload) == tail, "not the node's seal"

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
    pieces, select, peers = 6, selectors.DefaultSelector(), []
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
            p.out = p.seal(b"".join(piece(p, kind, k) for k in range(pieces)))
            p.input, p.left = b"", pieces
            p.sock.setblocking(False)
            select.register(p.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, p)
        while select.get_map():
            for key, events in select.select(60) or sys.exit("nothing happens for a minute"):
                step(select, key.data, events, kind)
    for p in peers:
        if open(p.path, "rb").read() != p.data:
            sys.exit("wrong data in " + p.path)


def on_crowd(name):
    """Busy peers are told that they are too many, and a request with an old stamp waits for a new one."""
    peers = [Peer(secret) for _ in range(25)]
    for p in peers:
        p.file = p.open(os.path.basename(name).encode(), os.stat(name).st_ino)

    def told(p):
        p.send(frame(PREAD, tag=3, file=p.file, count=1))
        return p.reply()[2][2] & CROWDED

    flags = [told(p) for p in peers]
    if any(flags[:24]):
        sys.exit("24 are no crowd: %s" % flags)
    if not any(any([told(p) for p in peers]) for _ in range(20)):
        sys.exit("nobody was told")
    time.sleep(6)  # a stamp is good for 8 s, and nothing is begun in the last 3
    renewed, silent = peers[:2]
    for p in renewed, silent:
        p.send(frame(PREAD, tag=4, file=p.file, count=1))
    renewed.send(frame(LEASE, tag=5))
    status = [renewed.reply()[2][5]]  # a new stamp
    renewed.send(frame(LEASE, tag=6))
    status += sorted(head[5] + status for _, status, head, _ in (renewed.reply(), renewed.reply()))
    if status != [5, 4, 6]:
        sys.exit("with a new stamp: %s" % status)
    if silent.reply()[1] != 4095:
        sys.exit("executed with an old stamp")


def piece(p, kind, k):
    return frame(kind, p.data[k * PIECE:(k + 1) * PIECE] if kind == PWRITE else b"",
                 tag=k, file=p.file, offset=k * PIECE, count=PIECE)


def step(select, p, events, kind):
    if events & selectors.EVENT_WRITE:
        p.out = p.out[p.sock.send(p.out[:1 << 20]):]
        if not p.out:
            select.modify(p.sock, selectors.EVENT_READ, p)
    if events & selectors.EVENT_READ:
        p.input += p.sock.recv(1 << 20) or sys.exit("hung up")
        while len(p.input) >= 80:
            head = struct.unpack("<IHHIiQQQQQQ", p.input[:64])
            whole = 80 + head[3]
            if len(p.input) < whole:
                break
            p.check(p.input[:64], p.input[64:80], p.input[80:whole])
            if head[5] == LEASE_TAG:  # unasked, since the node does not read from us now
                p.input = p.input[whole:]
                continue
            if head[4] == 4095:  # the lease was over: again, with the newest stamp
                p.out += p.seal(piece(p, kind, head[5]))
                p.input = p.input[whole:]
                select.modify(p.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, p)
                continue
            if head[4] or head[9] != PIECE:
                sys.exit("status %d, count %d" % (head[4], head[9]))
            at = head[5] * PIECE
            if kind == PREAD and p.input[80:whole] != p.data[at:at + PIECE]:
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
    good = hello() + frame(OPEN, b"file", tag=1) + frame(PREAD, tag=2, file=1, count=1)
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
    whole = hello()
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
    must_hang_up("HELLO twice", hello(), secret)
    must_hang_up("HELLO twice, before PROOF", hello() + hello())
    must_hang_up("PROOF first", frame(PROOF, b"x" * 32))
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


def on_forged():
    ping = frame(CONTROL, b"ping", tag=9)
    p = Peer(secret)
    good = p.seal(ping)
    p.send_raw(good)
    if p.reply()[3] != b"pong":
        sys.exit("no pong")
    # The same again; another tag, stamp, seal or payload; and none.
    for what, at in ("again", None), ("tag", 16), ("stamp", 64), ("seal", 72), ("payload", 80):
        p = Peer(secret)
        data = bytearray(p.seal(ping))
        if at is None:
            p.send_raw(bytes(data))
            p.reply()
        else:
            data[at] ^= 1
        p.send_raw(bytes(data))
        try:
            sys.exit("answered to a forged %s: %s" % (what, p.reply()))
        except Gone:
            pass
    p = Peer(secret)
    p.send_raw(ping + b"\0" * 16)
    try:
        sys.exit("answered without a seal: %s" % (p.reply(),))
    except Gone:
        pass


def on_impostor(name):
    """Whoever has taken the port: answers HELLO as well as it can, and keeps what it is sent."""
    server = socket.create_server((host, port), reuse_port=True)
    server.settimeout(0.2)
    print("ready", flush=True)
    with open(name, "wb") as out:
        select = selectors.DefaultSelector()
        select.register(sys.stdin, selectors.EVENT_READ)
        while not select.select(0):
            try:
                sock, _ = server.accept()
            except TimeoutError:
                continue
            sock.settimeout(0.5)
            try:
                out.write(sock.recv(1 << 20))
                sock.sendall(frame(CHALLENGE, os.urandom(96), tag=1))
                while True:
                    data = sock.recv(1 << 20)
                    if not data:
                        break
                    out.write(b"MORE" + data)
            except OSError:
                pass
            out.flush()
            sock.close()


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
        requests = p.seal(frame(PREAD, file=file, count=PIECE) * 64)
        p.sock.sendall(requests)  # more than the node takes; so the seals of others do not matter
        p.sock.setblocking(False)
        try:
            while True:
                p.sock.send(requests)
        except BlockingIOError:
            pass
    hold(peers)


def on_burst(path, ino):
    p = Peer(secret)
    file = p.open(path.encode(), int(ino))
    start = time.monotonic()
    for _ in range(10):
        p.send(frame(PREAD, tag=3, file=file, count=1))
        p.reply()
        time.sleep(0.01)
        p.send(frame(CONTROL, b"ping", tag=9) * 40)
        if any(p.reply()[3] != b"pong" for _ in range(40)):
            sys.exit("no pong")
    print(round(time.monotonic() - start))


kind, host, port, secret_file = sys.argv[1:5]
port = int(port)
secret = open(secret_file, "rb").read().rstrip(b"\n")
globals()["on_" + kind](*sys.argv[5:])
