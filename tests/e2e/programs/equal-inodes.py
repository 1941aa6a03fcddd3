# SPDX-License-Identifier: Apache-2.0
"""A FUSE file system with two files, a and b, that have the same inode number.

usage: equal-inodes.py DIRECTORY [HANG]     mounts itself there, serves until it is unmounted

While there is a file HANG, writes to a are not answered; while there is HANG-open, nor is open.

Written on /dev/fuse itself (protocol 7.31): requests are struct fuse_in_header and what follows it.
"""
import ctypes
import errno
import os
import struct
import sys

LOOKUP, FORGET, GETATTR, SETATTR, OPEN, READ, WRITE, RELEASE = 1, 2, 3, 4, 14, 15, 16, 18
STATFS, FLUSH, FSYNC, INIT, OPENDIR, RELEASEDIR, DESTROY, BATCH_FORGET = 17, 25, 20, 26, 27, 29, 38, 42
FATTR_SIZE, DIRECT_IO, INODE = 8, 1, 7
NODES = {b"a": 2, b"b": 3}
content = {2: bytearray(), 3: bytearray()}


def attributes(node):
    size, mode, links = (0, 0o040755, 2) if node == 1 else (len(content[node]), 0o100644, 1)
    number = 1 if node == 1 else INODE
    return struct.pack("<6Q10I", number, size, 0, 0, 0, 0, 0, 0, 0, mode, links, 0, 0, 0, 4096, 0)


def resize(node, size):
    del content[node][size:]
    content[node].extend(bytes(size - len(content[node])))


def answer(opcode, node, body):
    """What follows struct fuse_out_header; or an errno."""
    if opcode == INIT:
        return struct.pack("<4I2H2I2HI7I", 7, 31, 131072, 0, 12, 10, 131072, 1, 0, 0, 0, *[0] * 7)
    if opcode == STATFS:
        return struct.pack("<5Q10I", 0, 0, 0, 0, 0, 4096, 255, 4096, *[0] * 7)
    if opcode == LOOKUP:
        found = NODES.get(body.split(b"\0")[0])
        return struct.pack("<4Q2I", found, 0, 0, 0, 0, 0) + attributes(found) if found else errno.ENOENT
    if opcode in (GETATTR, SETATTR):
        if opcode == SETATTR and struct.unpack("<I", body[:4])[0] & FATTR_SIZE:
            resize(node, struct.unpack("<Q", body[16:24])[0])
        return struct.pack("<Q2I", 0, 0, 0) + attributes(node)
    if opcode in (OPEN, OPENDIR):
        return struct.pack("<Q2I", node, DIRECT_IO if opcode == OPEN else 0, 0)
    if opcode in (READ, WRITE):
        _, offset, size = struct.unpack("<2QI", body[:20])
        if opcode == READ:
            return bytes(content[node][offset:offset + size])
        if len(content[node]) < offset:
            resize(node, offset)
        content[node][offset:offset + size] = body[40:40 + size]
        return struct.pack("<2I", size, 0)
    return b"" if opcode in (RELEASE, STATFS, FLUSH, FSYNC, RELEASEDIR) else errno.ENOSYS


def main():
    libc = ctypes.CDLL(None, use_errno=True)
    fuse = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other"
    if libc.mount(b"equal", sys.argv[1].encode(), b"fuse", 0, options.encode()):
        sys.exit(os.strerror(ctypes.get_errno()))
    while True:
        try:
            request = os.read(fuse, 1 << 20)
        except OSError:
            return  # unmounted
        _, opcode, unique, node = struct.unpack("<2I2Q", request[:24])
        if opcode in (FORGET, BATCH_FORGET):
            continue
        if opcode == DESTROY:
            return
        if opcode == WRITE and node == NODES[b"a"] and sys.argv[2:] and os.path.exists(sys.argv[2]):
            continue
        if opcode == OPEN and node == NODES[b"a"] and sys.argv[2:] and os.path.exists(sys.argv[2] + "-open"):
            continue
        out = answer(opcode, node, request[40:])
        error, data = (-out, b"") if isinstance(out, int) else (0, out)
        try:
            os.write(fuse, struct.pack("<IiQ", 16 + len(data), error, unique) + data)
        except OSError:
            pass  # interrupted meanwhile


main()
