#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A process that leaks and lies: its "pprof endpoint" does everything an endpoint should not.

hostile_endpoint.py MODE FILL_MB RATE_MB_S GO_FILE
  MODE: hang | drip | stream | status | redirect | html | half_gzip | reset | huge_header | bomb
Fills FILL_MB at RATE_MB_S, prints "filled", and once GO_FILE exists leaks on until it is killed.
"""
import gzip
import os
import socket
import sys
import threading
import time
import zlib

PORT = 1777
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n"


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


def hang(_conn):
    time.sleep(3600)


def drip(conn):
    conn.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        conn.sendall(chunk(b"\x1f"))
        time.sleep(0.05)


def stream(conn):
    conn.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    block = chunk(b"\x1f\x8b" + b"x" * 65534)
    while True:
        conn.sendall(block)


def whole(conn, head, body):
    conn.sendall(head + b"Content-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body)


def status(conn):
    whole(conn, b"HTTP/1.1 404 Not Found\r\n", b"404 page not found\n")


def redirect(conn):
    whole(conn, b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1777/elsewhere\r\n", b"")


def html(conn):
    whole(conn, OK, b"<html><script>alert(1)</script>\x1b[31m</html>")


def half_gzip(conn):
    body = gzip.compress(os.urandom(8192))
    whole(conn, OK, body[: len(body) // 2])


def reset(conn):
    conn.sendall(OK + b"Content-Length: 100000\r\n\r\n\x1f\x8b")


def huge_header(conn):
    conn.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        conn.sendall(b"X-Header: " + b"y" * 4000 + b"\r\n")


def pack_bomb():
    """400 MB of zeros in 400 KB: only a cap on the inflated size helps. Packed in pieces, because
    this process lives at its memory limit."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    zeros = bytes(1 << 20)
    return b"".join([packer.compress(zeros) for _ in range(400)]) + packer.flush()


def bomb(conn):
    whole(conn, OK, BOMB)


MODES = {f.__name__: f for f in (hang, drip, stream, status, redirect, html, half_gzip, reset,
                                 huge_header, bomb)}

BOMB = pack_bomb() if sys.argv[1:2] == ["bomb"] else b""


def answer(conn, mode):
    try:
        conn.recv(4096)
        MODES[mode](conn)
    except OSError:
        pass
    finally:
        conn.close()


def serve(listener, mode):
    while True:
        conn, _ = listener.accept()
        threading.Thread(target=answer, args=(conn, mode), daemon=True).start()


def grow(held, megabytes, rate):
    for _ in range(megabytes):
        held.append(b"z" * (1 << 20))
        time.sleep(1 / rate)


def main():
    mode, fill_mb, rate, go_file = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", PORT))
    listener.listen(16)
    threading.Thread(target=serve, args=(listener, mode), daemon=True).start()
    held = []
    grow(held, fill_mb, rate)
    print("filled", flush=True)
    while not os.path.exists(go_file):
        time.sleep(0.02)
    grow(held, 1 << 20, rate)


if __name__ == "__main__":
    main()
