# SPDX-License-Identifier: Apache-2.0
"""An HTTP server on loopback that incidents are delivered to, and that answers as a test wants it to."""
import gzip
import json
import struct
import threading
import time

from . import protobuf
from .loopback_server import Handler, LoopbackServer


def ok(handler):
    handler.answer(200, b"", "application/x-protobuf")


def status(code, body=b"", content_type="text/plain", **headers):
    headers = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.answer(code, body, content_type, headers)


def partial_success(rejected, message):
    return status(200, protobuf.encode({1: {1: rejected, 2: message}}), "application/x-protobuf")


def endless(handler):
    handler.send_response(200)
    handler.send_header("Content-Type", "application/x-protobuf")
    handler.end_headers()
    handler.close_connection = True
    try:
        while True:
            handler.wfile.write(b"x" * 65536)
    except OSError:
        pass


def hang(handler):
    handler.server.owner.released.wait(120)
    handler.close_connection = True


class Request:
    def __init__(self, path, headers, body):
        self.path, self.headers = path, headers
        self.at = time.monotonic()
        self.body = gzip.decompress(body) if headers.get("Content-Encoding") == "gzip" else body

    def json(self):
        return json.loads(self.body)


class _Handler(Handler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.owner.take(Request(self.path, self.headers, body))(self)


class SinkServer:
    """answers: of the next requests, in order; after them `usual`. With `ids`, only incidents with these are requests:
    others' kills come here too, and get a success. With `client_authority` a client must have a certificate of it."""

    def __init__(self, port=0, usual=ok, answers=(), certificate=None, ids=None, client_authority=None):
        self.requests, self.usual, self.answers = [], usual, list(answers)
        self._ids = ids and [i.encode() for i in ids]
        self.released = threading.Event()
        self._lock = threading.Lock()
        self._server = LoopbackServer(self, _Handler, port, certificate, client_authority)
        self.port, self.url = self._server.server_port, self._server.url

    def take(self, request):
        if self._ids and not any(i in request.body for i in self._ids):
            return ok
        with self._lock:
            self.requests.append(request)
            return self.answers.pop(0) if self.answers else self.usual

    def close(self):
        self.released.set()
        self._server.close()


def _value(data):
    (kind, value), = protobuf.fields(data)
    if kind == 4:
        return struct.unpack("<d", struct.pack("<Q", value))[0]
    if kind == 5:
        return [_value(v) for v in protobuf.decode(value).get(1, [])]
    return {1: lambda: value.decode(), 2: lambda: bool(value), 3: lambda: value}[kind]()


def _attributes(pairs):
    return {p[1][0].decode(): _value(p[2][0]) for p in map(protobuf.decode, pairs)}


def log_record(body):
    """The one record of an ExportLogsServiceRequest: its fields, "resource" and "attributes" as dicts."""
    def one(message, number):
        value, = message[number]
        return value

    resource_logs = protobuf.decode(one(protobuf.decode(body), 1))
    scope_logs = protobuf.decode(one(resource_logs, 2))
    log = protobuf.decode(one(scope_logs, 2))
    return {"resource": _attributes(protobuf.decode(one(resource_logs, 1))[1]),
            "scope": protobuf.decode(one(scope_logs, 1))[1][0].decode(),
            "time": int(one(log, 1)), "severity": one(log, 2), "body": _value(one(log, 5)),
            "attributes": _attributes(log[6]), "observed": int(one(log, 11)), "event_name": one(log, 12).decode()}
