# SPDX-License-Identifier: Apache-2.0
"""A peer of a controller that shows credentials of MUNGE, for good or bad.

    munge-peer.py show HOST PORT MUNGED KIND...   what comes of each credential, a line each
    munge-peer.py sealed HOST PORT MUNGED         frames that are right, changed, repeated, or not sealed
    munge-peer.py take HOST PORT MUNGED FILE      listens in the place of a controller; what it is sent goes to FILE
                                                  and what it could make of it is printed

Exits with 1 if the controller has not done what it has to.
"""
import os
import re
import socket
import struct
import subprocess
import sys

from frames import *

kind, host, port, munged, *arguments = sys.argv[1:]
port = int(port)


class Gone(Exception):
    pass


def munge(nonce, secret, address=None, uid=None, reader=None, options=()):
    text = "sluice connection\n%s\n%s\n%s" % (address or "%s:%d" % (host, port), nonce.hex(), secret)
    words = ["munge", "-S", munged, "--cipher=aes128", *options]
    if reader is not False:
        words.append("--restrict-uid=%d" % (os.geteuid() if reader is None else reader))
    if uid:
        words = ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *words]
    return subprocess.run(words, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout.strip()


def receive(s, n):
    data = b""
    while len(data) < n:
        try:
            part = s.recv(n - len(data))
        except ConnectionResetError:
            part = b""
        if not part:
            raise Gone
        data += part
    return data


class Peer:
    """Greets with this credential, which may be for another HELLO."""

    def __init__(self, credential, first, secret):
        self.s = socket.create_connection((host, port))
        self.s.settimeout(20)
        self.s.sendall((frame(CREDENTIAL, credential, tag=1) if credential else b"") + first)
        head = receive(self.s, 64)
        if struct.unpack("<H", head[4:6])[0] != CHALLENGE:
            raise Gone
        nonce, proof = (lambda c: (c[:64], c[64:]))(receive(self.s, 96))
        if proof != keyed(secret, b"sluice 4 node", first[64:], nonce):
            sys.exit("the controller has not proved that it has read the credential")
        self.s.sendall(frame(PROOF, keyed(secret, b"sluice 4 client", first[64:], nonce), tag=1))
        keys = keyed(secret, b"sluice 4 keys", first[64:], nonce)
        self.out, self.inn = Seal(keys[:16]), Seal(keys[16:])
        self.answer()

    def answer(self):
        head, tail = receive(self.s, 64), receive(self.s, 16)
        payload = receive(self.s, struct.unpack("<I", head[8:12])[0])
        if self.inn.of(head, struct.unpack("<Q", tail[:8])[0], payload) != tail:
            sys.exit("not the controller's seal")
        return payload

    def sealed(self, line):
        head = frame(CONTROL, line, tag=3)[:64]
        return head + self.out.of(head, 0, line) + line


def fresh():
    first = hello(b"@ionode")
    return first, first[64 + 4 * 4 + 4 * 8 + 3 * 4 + 64:], os.urandom(30).hex()


def verdict(credential, first, secret):
    try:
        peer = Peer(credential, first, secret.encode())
        peer.s.sendall(peer.sealed(b"ping"))
        return peer.answer().decode()
    except Gone:
        return "refused"


def on_show():
    other = 21002
    for what in arguments:
        first, nonce, secret = fresh()
        good = munge(nonce, secret)
        if what == "replayed":
            assert verdict(good, first, secret) == "pong"
        credential = {
            "good": lambda: good,
            "replayed": lambda: good,
            "tampered": lambda: re.sub(rb".(.{30}:)$", lambda m: (b"B" if m[0][:1] != b"B" else b"C") + m[1], good),
            "cut": lambda: good[:-20] + b":",
            "none": lambda: b"",
            "nonsense": lambda: b"x" * 2047,
            "foreign": lambda: munge(nonce, secret, uid=other, reader=os.geteuid()),
            "for-another-user": lambda: munge(nonce, secret, reader=other),
            "for-everybody": lambda: munge(nonce, secret, reader=False),
            "in-clear": lambda: munge(nonce, secret, options=["--cipher=none"]),
            "for-another-address": lambda: munge(nonce, secret, address="%s:%d" % (host, port + 1)),
            "for-another-hello": lambda: munge(os.urandom(64), secret),
        }[what]()
        print(what, verdict(credential, first, secret), flush=True)


def on_sealed():
    def attempt(what, data):
        first, nonce, secret = fresh()
        peer = Peer(munge(nonce, secret), first, secret.encode())
        peer.s.sendall(data(peer))
        try:
            while True:
                print(what, peer.answer().decode(), flush=True)
        except Gone:
            print(what, "hung up", flush=True)
        except TimeoutError:
            sys.exit("not hung up on: " + what)

    def changed(peer):
        data = bytearray(peer.sealed(b"ping"))
        data[-1] ^= 1
        return bytes(data)

    def marked(peer):
        data = bytearray(peer.sealed(b"ping"))
        data[70] ^= 1
        return bytes(data)

    attempt("repeated", lambda p: p.sealed(b"ping") * 2)
    attempt("changed", changed)
    attempt("marked", marked)
    attempt("bare", lambda p: frame(CONTROL, b"ping", tag=3) + b"\0" * 16)


def on_take():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind((host, port))
    s.listen()
    s.settimeout(30)
    print("listening", flush=True)
    c, _ = s.accept()
    c.settimeout(20)
    head = receive(c, 64)
    credential = receive(c, struct.unpack("<I", head[8:12])[0])
    head = receive(c, 64)
    first = receive(c, struct.unpack("<I", head[8:12])[0])
    with open(arguments[0], "wb") as f:
        f.write(credential)
    print(subprocess.run(["unmunge", "-S", munged], input=credential, capture_output=True).stderr.decode().strip())
    # Guess: it has seen the HELLO, and not the secret.
    nonce = os.urandom(64)
    c.sendall(frame(CHALLENGE, nonce + keyed(b"", b"sluice 4 node", first, nonce), tag=1))
    try:
        receive(c, 1)
        print("it goes on")
    except Gone:
        print("hung up")


{"show": on_show, "sealed": on_sealed, "take": on_take}[kind]()
