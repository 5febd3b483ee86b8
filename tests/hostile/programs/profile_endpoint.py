#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A pprof endpoint that answers every request with one file, in a process whose memory swings.

profile_endpoint.py BODY LOW_MB HIGH_MB SWINGS GO_FILE
Rises from LOW_MB to HIGH_MB and stays until it has been asked, SWINGS times, so that each rise is a reason to capture it.
Prints "asked N" after each answer. When GO_FILE exists it grows until it is killed. One thread: see hostile_endpoint.py.
"""
import mmap
import os
import select
import socket
import sys
import time

PORT = 1777
MIB = 1 << 20
PATIENCE_S = 3.0  # of one swing without a request: the daemon may refuse to ask so often


class Endpoint:
    def __init__(self, body):
        self.body, self.answers = body, 0
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", PORT))
        self.listener.listen(16)

    def serve(self, seconds):
        """At most one client."""
        if not select.select([self.listener], [], [], seconds)[0]:
            return
        sock, _ = self.listener.accept()
        sock.settimeout(5)
        try:
            asked = sock.recv(4096)
            if b"debug/pprof/heap" not in asked or b"debug=1" in asked:
                sock.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            size = os.fstat(self.body.fileno()).st_size
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"
                         b"Content-Length: %d\r\nConnection: close\r\n\r\n" % size)
            self.body.seek(0)
            sock.sendfile(self.body)
            self.answers += 1
            print("asked", self.answers, flush=True)
        except OSError:
            pass
        finally:
            sock.close()


def touch(area, begin, end):
    for at in range(begin, end, 4096):
        area[at] = 1


def main():
    path, low, high, swings, go_file = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
    with open(path, "rb") as body:
        endpoint = Endpoint(body)
        area = mmap.mmap(-1, high * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for _ in range(swings):
            touch(area, 0, high * MIB)
            before, end = endpoint.answers, time.monotonic() + PATIENCE_S
            while endpoint.answers == before and time.monotonic() < end and not os.path.exists(go_file):
                endpoint.serve(0.02)
            if os.path.exists(go_file):
                break
            area.madvise(mmap.MADV_DONTNEED, low * MIB, (high - low) * MIB)
            endpoint.serve(0.05)
        touch(area, 0, high * MIB)
        print("over", flush=True)
        while not os.path.exists(go_file):
            endpoint.serve(0.02)
        held = []
        while True:
            held.append(b"z" * MIB)


if __name__ == "__main__":
    main()
