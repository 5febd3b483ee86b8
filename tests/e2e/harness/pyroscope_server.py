# SPDX-License-Identifier: Apache-2.0
"""What a Pyroscope takes and refuses, by its documentation (push.v1, default limits): no Pyroscope. Debian has none. The same
profiles in the form of Parca's writeraw: no Parca either."""
import base64
import gzip
import json
import re
import time
import uuid

from .loopback_server import Handler, LoopbackServer
from .pprof import Profile
from .protobuf import decode

MAX_SAMPLES, MAX_BYTES, MAX_LABELS = 16_000, 4 << 20, 30
LABEL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*$")


class Refused(Exception):
    pass


def check_labels(labels):
    if not {"__name__", "service_name"} <= set(labels) or len(labels) > MAX_LABELS:
        raise Refused("labels")
    for name, value in labels.items():
        if not LABEL.match(name) or not 0 < len(value.encode()) <= 2048 or len(name) > 1024:
            raise Refused(f"label {name}")


def check_profile(raw, now):
    plain = gzip.decompress(raw)
    if len(plain) > MAX_BYTES:
        raise Refused(f"{len(plain)} bytes")
    message, profile = decode(plain), Profile(raw)
    if len(profile.samples) > MAX_SAMPLES:
        raise Refused(f"{len(profile.samples)} samples")
    at = int(message[9][0]) / 1e9
    if not now - 3600 < at < now + 600:
        raise Refused("time")
    for text in message[6]:
        text.decode()
    if any("-" in kind for kind in profile.types) or 0 in profile._lines:
        raise Refused("profile")
    return profile


def read_push(series):
    """(labels, raw profile) of each sample."""
    for one in series:
        for sample in one["samples"]:
            uuid.UUID(sample["ID"])
            yield {pair["name"]: pair["value"] for pair in one["labels"]}, sample["rawProfile"]


def read_writeraw(series):
    for one in series:
        labels = {pair["name"]: pair["value"] for pair in one["labels"]["labels"]}
        if any(name.startswith("__") and name != "__name__" for name in labels):
            raise Refused("a label of Parca's own")
        for sample in one["samples"]:
            yield labels, sample["rawProfile"]


FORMS = {"/push.v1.PusherService/Push": read_push, "/api/profiles/writeraw": read_writeraw}


class _Handler(Handler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server.owner
        try:
            if self.path not in FORMS or self.headers["Content-Type"] != "application/json":
                raise Refused("path or type")
            for labels, text in FORMS[self.path](json.loads(body)["series"]):
                check_labels(labels)
                server.pushed.append((labels, check_profile(base64.b64decode(text, validate=True), time.time())))
            status, answer = 200, b"{}"
        except (Refused, KeyError, ValueError, OSError, EOFError) as error:
            server.refused.append(repr(error))
            status, answer = 400, json.dumps({"code": "invalid_argument", "message": str(error)}).encode()
        self.answer(status, answer, "application/json")


class PyroscopeServer:
    """pushed: (labels, profile) of what was taken; refused: why, of the rest."""

    def __init__(self):
        self.pushed, self.refused = [], []
        self._server = LoopbackServer(self, _Handler)
        self.url, self.close = self._server.url, self._server.close
