# SPDX-License-Identifier: Apache-2.0
"""A service on the standard library's server: generating a report keeps its rows for ever, the other endpoints nothing."""
import http.server
import json
import sys

REQUEST_LOG = []


def rows_of(count):
    return [{"row": row, "customer": "customer-%d" % row, "total": row * 1.25} for row in range(count)]


def keep_rows(count):
    for row in range(count):
        REQUEST_LOG.append({"row": row, "customer": "customer-%d" % row, "total": row * 1.25})


class Reports(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        endpoint = {"/api/reports/generate": self.generate_report, "/api/reports/count": self.count_reports,
                    "/api/customers": self.list_customers, "/api/totals": self.add_totals,
                    "/health": self.health}[self.path]
        body = json.dumps(endpoint()).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def generate_report(self):
        keep_rows(300)
        return {"reports": len(REQUEST_LOG)}

    def count_reports(self):
        return {"reports": len(REQUEST_LOG)}

    def list_customers(self):
        return rows_of(300)

    def add_totals(self):
        return {"total": sum(row["total"] for row in rows_of(300))}

    def health(self):
        return {"ok": True}

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Reports).serve_forever()
