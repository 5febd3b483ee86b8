#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces, or logs over HTTP, to 127.0.0.1:PORT as an instrumented service sends them, by OTLP, until it is ended.
Refusals are counted and do not stop it. Prints "sent N refused N" each second: spans or log records."""
import argparse
import http.client
import itertools
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


def log_record(index):
    start = time.time_ns()
    text = lambda name: attribute(name, f"{NUMBER}-{index:06d}-".ljust(ATTRIBUTE_BYTES, "v"))
    return {1: Fixed64(start), 2: 9, 3: "INFO", 5: {1: f"order {NUMBER}/{index} was placed by a customer"},
            6: [text(name) for name in ("http.url", "user.id", "thread", "code.filepath", "http.user_agent")],
            9: NUMBER.encode() + index.to_bytes(4, "big"), 10: index.to_bytes(8, "big"), 11: Fixed64(start)}


def request_template(item):
    items = [item(n + 1) for n in range(SPANS_PER_REQUEST)]
    return encode({1: {1: {1: [attribute("service.name", "orders")]}, 2: {1: {1: "sender"}, 2: items}}})


class Http:
    def __init__(self, options):
        self._connection = http.client.HTTPConnection("127.0.0.1", options.port, timeout=5)
        self._path = "/v1/logs" if options.logs else "/v1/traces"
        self._tenants = itertools.cycle(f"tenant-{n}" for n in range(options.tenants))

    def send(self, body):
        headers = {"Content-Type": "application/x-protobuf", "X-Tenant": next(self._tenants)}
        try:
            self._connection.request("POST", self._path, body, headers)
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
    def __init__(self, options):
        self._url = f"http://127.0.0.1:{options.port}/opentelemetry.proto.collector.trace.v1.TraceService/Export"

    def send(self, body):
        done = subprocess.run(
            ["curl", "-s", "--noproxy", "*", "--http2-prior-knowledge", "--max-time", "5", "-D", "-", "-o", "/dev/null",
             "-H", "content-type: application/grpc", "-H", "te: trailers", "--data-binary", "@-", self._url],
            input=b"\0" + len(body).to_bytes(4, "big") + body, capture_output=True)
        return b"grpc-status: 0" in done.stdout


def parse():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("port", type=int)
    parser.add_argument("per_second", type=float, help="spans or log records")
    parser.add_argument("--grpc", action="store_true")
    parser.add_argument("--logs", action="store_true", help="instead of traces, over HTTP")
    parser.add_argument("--requests-in-one", type=int, default=1, help="as many in one body")
    parser.add_argument("--tenants", type=int, default=1, help="that take turns in the header X-Tenant, over HTTP")
    return parser.parse_args()


def main():
    options = parse()
    client = Grpc(options) if options.grpc else Http(options)
    spans = SPANS_PER_REQUEST * options.requests_in_one
    # All of a request is one repeated field: two in a row are one.
    template = request_template(log_record if options.logs else span) * options.requests_in_one
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
        ahead = (sent + refused) / options.per_second - (now - start)
        if ahead > 0:
            time.sleep(ahead)


if __name__ == "__main__":
    main()
