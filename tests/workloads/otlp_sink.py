#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""otlp_sink.py PORT [SECONDS [STATUS]]: a backend that takes all it is sent by OTLP over HTTP, and forgets it. SECONDS:
what each answer takes; STATUS: what it answers instead of 200."""
import http.server
import sys
import time


class Sink(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    answer_seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 0
    answer_status = int(sys.argv[3]) if len(sys.argv) > 3 else 200

    def do_POST(self):
        left = int(self.headers.get("Content-Length", 0))
        while left > 0 and (data := self.rfile.read(min(left, 1 << 20))):
            left -= len(data)
        time.sleep(self.answer_seconds)
        self.send_response(self.answer_status)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Sink).serve_forever()
