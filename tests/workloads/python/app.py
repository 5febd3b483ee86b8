# SPDX-License-Identifier: Apache-2.0
"""A service of the kind that is restarted every night: each report is kept in a list of the module for ever. It asks
itself for reports; --healthy keeps the last 100,000 rows."""
import http.client
import http.server
import json
import sys
import threading
import time

REQUEST_LOG = []
KEPT = None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/api/reports/generate":
            self.generate()
        body = json.dumps({"reports": len(REQUEST_LOG)}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def generate(self):
        for row in range(500):
            REQUEST_LOG.append({"row": row, "customer": "customer-%d" % row, "total": row * 1.25})
        if KEPT:
            del REQUEST_LOG[:-KEPT]

    def log_message(self, *_):
        pass


def ask(port, per_second):
    client = http.client.HTTPConnection("127.0.0.1", port)
    while True:
        client.request("GET", "/api/reports/generate")
        client.getresponse().read()
        time.sleep(1 / per_second)


def main():
    global KEPT
    per_second = float(sys.argv[1])
    if "--healthy" in sys.argv:
        KEPT = 100_000
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=ask, args=(server.server_port, per_second), daemon=True).start()
    server.serve_forever()
