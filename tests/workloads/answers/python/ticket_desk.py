# SPDX-License-Identifier: Apache-2.0
"""A help desk, as a WSGI application. An edited ticket is indexed again, and what the index knew of it before stays."""
import http.client
import json
import random
import threading
import time
from wsgiref.simple_server import WSGIRequestHandler, make_server

EDITS_PER_SECOND = 55
WORDS = [f"{begin}{end}{n}" for begin in ("print", "net", "mail", "log", "pass") for end in ("er", "work", "in")
         for n in range(200)]


class Occurrence:
    def __init__(self, ticket, positions):
        self.ticket = ticket
        self.positions = positions


class TextIndex:
    def __init__(self):
        self.occurrences = {}

    def add_ticket(self, number, text):
        places = {}
        for position, word in enumerate(text.split()):
            places.setdefault(word, []).append(position)
        for word, positions in places.items():
            self.occurrences.setdefault(word, []).append(Occurrence(number, positions))

    def find(self, word):
        return sorted({found.ticket for found in self.occurrences.get(word, [])[-50:]})


class Desk:
    def __init__(self, index):
        self.index = index
        self.tickets = {}

    def edit(self, number, text):
        self.tickets[number] = text
        self.index.add_ticket(number, text)
        return {"ticket": number, "related": self.index.find(text.split()[0])}


class Application:
    def __init__(self, desk):
        self.desk = desk

    def __call__(self, environ, start_response):
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"])).decode()
        answer = self.desk.edit(int(environ["PATH_INFO"].rpartition("/")[2]), body)
        start_response("200 OK", [("Content-Type", "application/json")])
        return [json.dumps(answer).encode()]


class QuietHandler(WSGIRequestHandler):
    def log_message(self, *_):
        pass


def agents(port):
    """Who edits tickets."""
    chosen, begin, number = random.Random(61), time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * EDITS_PER_SECOND:
            client = http.client.HTTPConnection("127.0.0.1", port)
            client.request("PUT", f"/tickets/{number % 400}", " ".join(chosen.choices(WORDS, k=120)))
            client.getresponse().read()
            client.close()
            number += 1
        time.sleep(0.02)


server = make_server("127.0.0.1", 0, Application(Desk(TextIndex())), handler_class=QuietHandler)
threading.Thread(target=agents, args=(server.server_port,), daemon=True).start()
server.serve_forever()
