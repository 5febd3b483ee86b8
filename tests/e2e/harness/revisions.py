# SPDX-License-Identifier: Apache-2.0
"""What joins an incident after its first writing: a revision under the same id."""
import json
import os

from harness.wait import eventually


def captures_by(method, incident):
    return [c for c in incident["captures"] if c["method"] == method and c["result"] == "ok"]


def amended(incident, has_it):
    """The incident once what came after its first writing is in it."""
    def read():
        with open(os.path.join(incident["_dir"], "incident.json"), encoding="utf-8") as f:
            now = dict(json.load(f), _dir=incident["_dir"])
        return now if has_it(now) else None

    return eventually(read, lambda: f"{incident['_dir']} is amended")


def with_walk(incident):
    """With the victim's heap as it was at the kill, which may join the incident after its first writing."""
    return amended(incident, lambda i: captures_by("at_kill", i))
