# SPDX-License-Identifier: Apache-2.0
"""Frames, proofs and seals, written from sluice-protocol(7) alone: for programs that test daemons."""
import hashlib
import hmac
import os
import struct

HELLO, WELCOME, REPLY, OPEN, CLOSE, PREAD, PWRITE, FSYNC, CONTROL, CHALLENGE, PROOF, LEASE, SIZE, CREDENTIAL = \
    range(1, 15)
APPEND, DATA, CROWDED = 1, 4, 8
PIECE = 262144
LEASE_TAG = (1 << 64) - 1
WORD = (1 << 64) - 1


def frame(kind, payload=b"", flags=0, tag=0, file=0, offset=0, count=0, length=None):
    return struct.pack("<IHHIiQQQQQQ", 0x31554C53, kind, flags,
                       len(payload) if length is None else length, 0, tag, 0, file, offset,
                       count, 0) + payload


def hello(job=b"peer", version=4):
    return frame(HELLO, struct.pack("<IIIIQQQqIII64s64s", version, 0, os.getpid(), 0, 0, 0, 0, 0, 0,
                                    0, 0, job, os.urandom(64)), tag=1)


def keyed(secret, label, hello_bytes, nonce):
    return hmac.new(secret, label + b"\0" + hello_bytes + nonce, hashlib.sha256).digest()


def siphash(key, data):
    k0, k1 = struct.unpack("<QQ", key)
    v = [k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
         k1 ^ 0x7465646279746573]

    def turn(x, by):
        return (x << by | x >> (64 - by)) & WORD

    def rounds(count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & WORD
            v[1] = turn(v[1], 13) ^ v[0]
            v[0] = turn(v[0], 32)
            v[2] = (v[2] + v[3]) & WORD
            v[3] = turn(v[3], 16) ^ v[2]
            v[0] = (v[0] + v[3]) & WORD
            v[3] = turn(v[3], 21) ^ v[0]
            v[2] = (v[2] + v[1]) & WORD
            v[1] = turn(v[1], 17) ^ v[2]
            v[2] = turn(v[2], 32)

    data += b"\0" * (7 - len(data) % 8) + bytes([len(data) & 255])
    for (word,) in struct.iter_unpack("<Q", data):
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 255
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


class Seal:
    """One direction of a connection."""

    def __init__(self, key):
        self.key, self.count = key, 0
        k0, k1 = struct.unpack("<QQ", key)
        self.inner = struct.pack("<QQ", k0 ^ 0x5c5c5c5c5c5c5c5c, k1 ^ 0x3636363636363636)

    def of(self, head, stamp, payload):
        kind, flags = struct.unpack("<HH", head[4:8])
        covered = payload and kind != PWRITE and not (kind == REPLY and flags & DATA)
        seal = siphash(self.key, head + struct.pack(
            "<QQQ", stamp, self.count, siphash(self.inner, payload) if covered else 0))
        self.count += 1
        return struct.pack("<QQ", stamp, seal)
