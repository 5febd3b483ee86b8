# SPDX-License-Identifier: Apache-2.0
"""A service on Flask: generating a report keeps its rows for ever, the other endpoints nothing."""
import logging
import sys

import flask

app = flask.Flask(__name__)
REQUEST_LOG = []


def rows_of(count):
    return [{"row": row, "customer": "customer-%d" % row, "total": row * 1.25} for row in range(count)]


def keep_rows(count):
    for row in range(count):
        REQUEST_LOG.append({"row": row, "customer": "customer-%d" % row, "total": row * 1.25})


@app.get("/api/reports/generate")
def generate_report():
    keep_rows(300)
    return {"reports": len(REQUEST_LOG)}


@app.get("/api/reports/count")
def count_reports():
    return {"reports": len(REQUEST_LOG)}


@app.get("/api/customers")
def list_customers():
    return flask.jsonify(rows_of(300))


@app.get("/api/totals")
def add_totals():
    return {"total": sum(row["total"] for row in rows_of(300))}


@app.get("/health")
def health():
    return {"ok": True}


if __name__ == "__main__":
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    app.run("127.0.0.1", int(sys.argv[1]))
