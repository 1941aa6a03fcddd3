# SPDX-License-Identifier: Apache-2.0
"""Keeps many connections to an HTTP server that never finish their request: slow-http.py PORT COUNT

Each sends a byte now and then; one that is hung up on is opened again. Says "begun" when all have been opened once.
Ends after two minutes.
"""
import socket
import sys
import time

port, count = int(sys.argv[1]), int(sys.argv[2])


def fresh():
    s = socket.socket()
    s.setblocking(False)
    s.connect_ex(("127.0.0.1", port))
    return s


def alive(s):
    try:
        s.send(b"G")
        return bool(s.recv(1))
    except BlockingIOError:
        return True
    except OSError:
        return False


held = [fresh() for _ in range(count)]
print("begun", flush=True)
for _ in range(2400):
    time.sleep(0.05)
    held = [s if alive(s) else (s.close(), fresh())[1] for s in held]
