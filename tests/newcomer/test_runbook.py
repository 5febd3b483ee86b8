# SPDX-License-Identifier: Apache-2.0
"""The commands of deploy/prometheus/runbook.md in the pod of the DaemonSet, as its image and its security context are."""
import os
import re
import sys

from harness import tools
from harness.wait import eventually

sys.path.insert(0, os.path.join(tools.TREE, "tests/cluster"))

from kube import objects  # noqa: E402
from kube.case import ClusterTest  # noqa: E402
from kube.witness import NAMESPACE  # noqa: E402

RUNBOOK = os.path.join(tools.TREE, "deploy/prometheus/runbook.md")


def commands():
    """`oomwitness ...` of all sections, in their order, each once."""
    with open(RUNBOOK, encoding="utf-8") as f:
        text = " ".join(f.read().split())
    return list(dict.fromkeys(re.findall(r"`oomwitness ([a-z][^`]*)`", text)))


class Runbook(ClusterTest):
    overlay = "least-capability"

    def exec(self, *command):
        pod, = [p["metadata"]["name"] for p in self.witness.pods()]
        return self.node.kubectl("exec", "-n", NAMESPACE, pod, "--", "oomwitness", *command)

    def test_every_command_works_where_it_is_to_be_run(self):
        living = objects.leaking("api")
        living["command"] += ["-limit-mb", "30"]
        self.create(objects.pod("living", living), objects.pod("orders", objects.leaking()))
        incident, = self.wait_incidents_of_pod("orders")
        status = eventually(lambda: self.pod("living")["status"].get("containerStatuses"), "the living container")
        container = status[0]["containerID"].rpartition("/")[2]
        pid = re.search(r"pid (\d+)", self.exec("capture", "--container", container, "-o", "first.pb.gz"))[1]
        found = commands()
        self.assertGreaterEqual(len(found), 7, found)
        for command in found:
            meant = {"ID": incident["id"] if command.startswith("show") else container, "PID": pid,
                     "NAMESPACE/NAME": f"{self.namespace}/living"}
            words = [meant.get(word, word) for word in command.split()]
            with self.subTest(command):
                self.assertNotEqual(self.exec(*words, *(["--count=2", "--interval=0.5"] if words[0] == "trend" else [])), "")
        self.assertIn("leak", self.exec("top", "now.pb.gz"))
