# SPDX-License-Identifier: Apache-2.0
"""A shared editor on Flask. Each save keeps the text before it, so that it can be undone; nobody limits how often."""
import http.client
import logging
import os
import time

from flask import Flask, request
from werkzeug.serving import make_server

SAVES_PER_SECOND = 130
app = Flask(__name__)
logging.getLogger("werkzeug").setLevel(logging.ERROR)


class Revision:
    def __init__(self, author, text):
        self.author = author
        self.text = text


class Document:
    def __init__(self):
        self.text = ""
        self.revisions = []


DOCUMENTS = {}


@app.post("/documents/<int:number>")
def save_document(number):
    document = DOCUMENTS.setdefault(number, Document())
    document.revisions.append(Revision(request.remote_addr, document.text))
    document.text = request.get_data(as_text=True)
    return {"revisions": len(document.revisions)}


def write(port):
    """The users: another process."""
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * SAVES_PER_SECOND:
            client = http.client.HTTPConnection("127.0.0.1", port)
            client.request("POST", f"/documents/{number % 40}", f"line {number} of the text\n" * 800)
            client.getresponse().read()
            client.close()
            number += 1
        time.sleep(0.02)


server = make_server("127.0.0.1", 0, app)
if os.fork() == 0:
    write(server.server_port)
server.serve_forever()
