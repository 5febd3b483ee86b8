# SPDX-License-Identifier: Apache-2.0
"""A web server that keeps each answer by its whole path; its clients add a random number to get past proxies."""
import http.client
import http.server
import json
import threading
import time

PORT = 8081


def build_report(path):
    return [{"path": path, "row": row, "value": row * 1.5} for row in range(60)]


class ReportHandler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # an answer in one packet
    responses_by_path = {}

    def do_GET(self):
        if self.path not in self.responses_by_path:
            self.responses_by_path[self.path] = build_report(self.path)
        body = json.dumps(self.responses_by_path[self.path]).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def read_reports():
    begin, number = time.monotonic(), 0
    connection = http.client.HTTPConnection("127.0.0.1", PORT)
    while True:
        while number < (time.monotonic() - begin) * 130:
            connection.request("GET", f"/reports/daily?_={number * 7919}")
            connection.getresponse().read()
            number += 1
        time.sleep(0.02)


server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), ReportHandler)
threading.Thread(target=read_reports, daemon=True).start()
server.serve_forever()
