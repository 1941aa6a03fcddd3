# SPDX-License-Identifier: Apache-2.0
"""tcp-sync.py FILE: does what the lines of its input say, and prints what came of each.

    write N   N bytes at the position     append N   the same with O_APPEND, in one call
    fsync     fdatasync                   dup        go on with a duplicate of the descriptor
    tell      where the position is       fcntl      F_SETFL, with the flags it has
    sync      syncfs, of the directory
"""
import ctypes
import errno
import fcntl
import os
import sys

fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)
directory = os.open(os.path.dirname(sys.argv[1]), os.O_RDONLY)
libc = ctypes.CDLL(None, use_errno=True)
appending = os.open(sys.argv[1], os.O_RDWR | os.O_APPEND)
for line in sys.stdin:
    word, *argument = line.split()
    result = 0
    try:
        if word == "write":
            result = os.write(fd, b"w" * int(argument[0]))
        elif word == "append":
            result = os.write(appending, b"a" * int(argument[0]))
        elif word == "fsync":
            os.fsync(fd)
        elif word == "fdatasync":
            os.fdatasync(fd)
        elif word == "sync":
            os.sync()
        elif word == "syncfs":
            if libc.syncfs(directory):
                raise OSError(ctypes.get_errno(), "syncfs")
        elif word == "dup":
            fd = os.dup(fd)
        elif word == "tell":
            result = os.lseek(appending, 0, os.SEEK_CUR)
        elif word == "fcntl":
            fcntl.fcntl(fd, fcntl.F_SETFL, fcntl.fcntl(fd, fcntl.F_GETFL))
        print(result, flush=True)
    except OSError as e:
        print(errno.errorcode[e.errno], flush=True)
