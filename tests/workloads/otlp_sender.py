#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""otlp_sender.py PORT SPANS_PER_SECOND [--grpc] [--requests-in-one=N]: traces to 127.0.0.1:PORT as an instrumented
service sends them, by OTLP over HTTP or gRPC, until it is ended; N: as many in one body. Refusals are counted and do
not stop it. Prints "sent N refused N" each second."""
import http.client
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e"))
from harness.protobuf import Fixed64, encode  # noqa: E402 (the path comes first)

SPANS_PER_REQUEST = 512  # an SDK's default
ATTRIBUTE_BYTES = 200
SECOND_NS = 1_000_000_000
# Stands for the request's number; one replacement makes all strings and ids of a request new.
NUMBER = "@@@@@@@@@@@@"


def attribute(key, value):
    return {1: key, 2: {1: value}}


def span(index):
    start = time.time_ns()
    text = lambda name: attribute(name, f"{NUMBER}-{index:06d}-".ljust(ATTRIBUTE_BYTES, "v"))
    return {1: NUMBER.encode() + index.to_bytes(4, "big"), 2: index.to_bytes(8, "big"),
            5: f"GET /orders/{NUMBER}/{index}", 6: 2, 7: Fixed64(start), 8: Fixed64(start + SECOND_NS // 50),
            9: [text(name) for name in ("http.url", "user.id", "db.statement", "peer.service", "http.user_agent")],
            11: [{1: Fixed64(start), 2: "cache miss", 3: [attribute("key", NUMBER)]}]}


def request_template():
    spans = [span(n + 1) for n in range(SPANS_PER_REQUEST)]
    return encode({1: {1: {1: [attribute("service.name", "orders")]}, 2: {1: {1: "sender"}, 2: spans}}})


class Http:
    def __init__(self, port):
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)

    def send(self, body):
        try:
            self._connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
            answer = self._connection.getresponse()
            answer.read()
            return answer.status == 200
        except OSError:
            self._connection.close()
            return False
        except http.client.HTTPException:
            self._connection.close()
            return False


class Grpc:
    def __init__(self, port):
        self._url = f"http://127.0.0.1:{port}/opentelemetry.proto.collector.trace.v1.TraceService/Export"

    def send(self, body):
        done = subprocess.run(
            ["curl", "-s", "--noproxy", "*", "--http2-prior-knowledge", "--max-time", "5", "-D", "-", "-o", "/dev/null",
             "-H", "content-type: application/grpc", "-H", "te: trailers", "--data-binary", "@-", self._url],
            input=b"\0" + len(body).to_bytes(4, "big") + body, capture_output=True)
        return b"grpc-status: 0" in done.stdout


def requests_in_one():
    given = [a.partition("=")[2] for a in sys.argv if a.startswith("--requests-in-one=")]
    return int(given[0]) if given else 1


def main():
    port, rate = int(sys.argv[1]), float(sys.argv[2])
    client = Grpc(port) if "--grpc" in sys.argv else Http(port)
    spans = SPANS_PER_REQUEST * requests_in_one()
    template = request_template() * requests_in_one()  # all of a request is one repeated field: two in a row are one
    sent = refused = 0
    start = said = time.monotonic()
    while True:
        number = f"{(sent + refused) // spans:012d}"
        if client.send(template.replace(NUMBER.encode(), number.encode())):
            sent += spans
        else:
            refused += spans
            time.sleep(0.01)
        now = time.monotonic()
        if now - said >= 1:
            said = now
            print(f"sent {sent} refused {refused}", flush=True)
        ahead = (sent + refused) / rate - (now - start)
        if ahead > 0:
            time.sleep(ahead)


if __name__ == "__main__":
    main()
