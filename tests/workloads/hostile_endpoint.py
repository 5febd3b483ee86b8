#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A process that leaks and lies: its "pprof endpoint" does everything an endpoint should not.

hostile_endpoint.py MODE FILL_MB RATE_MB_S GO_FILE
  MODE: hang | drip | stream | status | redirect | html | half_gzip | reset | huge_header | bomb | heavy | raw
Fills FILL_MB at RATE_MB_S, prints "filled", and once GO_FILE exists leaks on until it is killed.

One thread on purpose. With one that grows and others that answer, this program once stood still for
ever between two allocations. CPython 3.11 waits without a time limit for another thread to take its
lock, and condition variables of glibc before 2.41 can lose a wake-up (glibc bug 25847), which would
look just so; 215,000 requests made for the purpose did not show it again.
"""
import gzip
import os
import select
import socket
import sys
import time
import zlib

PORT = 1777
MIB = 1 << 20
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
LOOK_S = 0.02  # between two checks for GO_FILE

# A mode is a generator: bytes to send, or seconds to wait before the next step. It ends with the
# connection.


def hang():
    while True:
        yield 3600.0


def drip():
    yield OK + b"Transfer-Encoding: chunked\r\n\r\n"
    while True:
        yield chunk(b"\x1f")
        yield 0.05


def stream():
    yield OK + b"Transfer-Encoding: chunked\r\n\r\n"
    block = chunk(b"\x1f\x8b" + b"x" * 65534)
    while True:
        yield block


def status():
    yield whole(b"HTTP/1.1 404 Not Found\r\n", b"404 page not found\n")


def redirect():
    yield whole(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1777/elsewhere\r\n", b"")


def html():
    yield whole(OK, b"<html><script>alert(1)</script>\x1b[31m</html>")


def half_gzip():
    body = gzip.compress(os.urandom(8192))
    yield whole(OK, body[: len(body) // 2])


def reset():
    yield OK + b"Content-Length: 100000\r\n\r\n\x1f\x8b"


def huge_header():
    yield b"HTTP/1.1 200 OK\r\n"
    while True:
        yield b"X-Header: " + b"y" * 4000 + b"\r\n"


def bomb():
    yield whole(OK, BOMB)


def heavy():
    yield whole(OK, HEAVY)


def raw():
    """A whole heap profile without gzip: 32 MiB, nearly all of it one name, which this process does not hold."""
    names, name = heap_types(), 31 * MIB
    head = b"\x32" + varint(name)
    yield OK + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % (len(names) + len(head) + name)
    yield names + head
    for _ in range(31):
        yield b"x" * MIB


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def whole(head, body):
    return head + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body


def pack_bomb():
    """400 MB of zeros in 400 KB: only a cap on the inflated size helps. Packed in pieces, because
    this process lives at its memory limit."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(MIB)
    return b"".join([packer.compress(zeros) for _ in range(400)]) + packer.flush()


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def heap_types():
    """A profile.proto with the sample types of a heap and no samples."""
    names = [b"", b"inuse_objects", b"count", b"inuse_space", b"bytes"]
    table = b"".join(b"\x32" + varint(len(name)) + name for name in names)
    return b"\x0a\x04\x08\x01\x10\x02" + b"\x0a\x04\x08\x03\x10\x04" + table


def pack_heavy():
    """A profile that is as large as one may be once it is read: 390,000 locations in 1 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress(heap_types())]
    for n in range(1, 390_000):
        location = b"\x08" + varint(n)
        parts.append(packer.compress(b"\x22" + varint(len(location)) + location))
    return b"".join(parts) + packer.flush()


MODES = {f.__name__: f
         for f in (hang, drip, stream, status, redirect, html, half_gzip, reset, huge_header, bomb, heavy, raw)}
BOMB = pack_bomb() if sys.argv[1:2] == ["bomb"] else b""
HEAVY = pack_heavy() if sys.argv[1:2] == ["heavy"] else b""


class Connection:
    """One client. Nothing here blocks; an OSError means that the client is gone."""

    def __init__(self, sock, steps):
        self.sock, self.steps = sock, steps
        self.asked, self.pending, self.resume_at = False, b"", 0.0
        sock.setblocking(False)

    def fileno(self):
        return self.sock.fileno()

    def wants_to_send(self, now):
        return self.asked and now >= self.resume_at

    def read(self):
        """False once the client has closed."""
        data = self.sock.recv(4096)
        self.asked = True
        return bool(data)

    def send(self, now):
        """The rest of one step, or the next step; False once there is none."""
        if not self.pending:
            step = next(self.steps, None)
            if step is None:
                return False
            if isinstance(step, float):
                self.resume_at = now + step
                return True
            self.pending = step
        self.pending = self.pending[self.sock.send(self.pending):]
        return True


class Endpoint:
    def __init__(self, mode):
        self.mode, self.connections = mode, []
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", PORT))
        self.listener.listen(16)
        self.listener.setblocking(False)

    def serve(self, seconds):
        """For so long, whoever comes: a client that always wants more does not stop the clock."""
        end = time.monotonic() + seconds
        now = end - seconds
        while now < end:
            self.turn(now, end)
            now = time.monotonic()

    def turn(self, now, end):
        """One step for each client that is ready, waiting for the first until then."""
        resume_at = [c.resume_at for c in self.connections if c.asked and c.resume_at > now]
        seconds = min([end, *resume_at]) - now
        senders = [c for c in self.connections if c.wants_to_send(now)]
        readable, writable, _ = select.select([self.listener, *self.connections], senders, [], seconds)
        if self.listener in readable:
            sock, _ = self.listener.accept()
            self.connections.append(Connection(sock, MODES[self.mode]()))
        for connection in list(self.connections):
            self.step(connection, connection in readable, connection in writable, now)

    def step(self, connection, readable, writable, now):
        try:
            stays = (not readable or connection.read()) and (not writable or connection.send(now))
        except BlockingIOError:
            return
        except OSError:
            stays = False
        if not stays:
            connection.sock.close()
            self.connections.remove(connection)


def grow(endpoint, held, megabytes, rate):
    """That much more, a megabyte at a time, serving in between."""
    for _ in range(megabytes):
        held.append(b"z" * MIB)
        endpoint.serve(1 / rate)


def main():
    mode, fill_mb, rate, go_file = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    endpoint, held = Endpoint(mode), []
    grow(endpoint, held, fill_mb, rate)
    print("filled", flush=True)
    while not os.path.exists(go_file):
        endpoint.serve(LOOK_S)
    grow(endpoint, held, 1 << 20, rate)


if __name__ == "__main__":
    main()
