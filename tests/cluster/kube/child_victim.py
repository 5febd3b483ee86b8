# SPDX-License-Identifier: Apache-2.0
"""A pod whose container goes on while its child is killed. No status ever reports that, and oomwitness claims so when one has had
30 s to come: whoever creates the pod early spares the one who asks for the claim that wait."""
from . import objects
from .pod_assertions import LIMIT_MB

NAME = "child"
_SCRIPT = f"{objects.HOG} --hold-mb 4 --rate-mb-s 40 & wait; while :; do sleep 1; done"
_created = []  # its namespace and what belongs to that, once there is one


def create_once(test):
    """In a namespace of its own, which lives as long as the node; what test.enter() needs to ask for it."""
    if not _created:
        _created.append(test.open_namespace(f"{test.prefix}{NAME}", lambda *_: None))
        made = objects.pod(NAME, objects.container("orders", [objects.SHELL, "-c", _SCRIPT], LIMIT_MB))
        made["metadata"]["namespace"] = _created[0][0]
        test.api.create(made)
    return _created[0]
