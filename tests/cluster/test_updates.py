# SPDX-License-Identifier: Apache-2.0
"""Rolling updates of the DaemonSet while pods are killed: each kill of the kernel's is one incident and counted once, also those
of the seconds in which no daemon runs."""
import signal
import time

from harness.wait import eventually

from kube.case import ClusterTest
from kube.gate import Gate
from kube.witness import NAMESPACE

PODS = 10


class Updates(ClusterTest):
    def setUp(self):
        super().setUp()
        self.gate = Gate(self.node, self.namespace)
        self._stack.callback(self.gate.close)

    def create_held(self, names):
        self.create(*(self.gate.pod(name, restartPolicy="Never") for name in names))
        self.wait_pods(lambda pods: len(pods) == len(names) and all(p["status"]["phase"] == "Running" for p in pods), "all run")

    def restart(self):
        self.node.kubectl("rollout", "restart", "--namespace", NAMESPACE, "daemonset/oomwitness")

    def assert_counted_once(self, names):
        """Each has its incident with its names, and its own count."""
        for name in names:
            incident, = self.wait_incidents_of_pod(name)
            self.assertEqual((incident["pod"]["namespace"], incident["pod"]["name"], incident["container"]["name"]),
                             (self.namespace, name, name))
        series = self.witness.scrape().values("oomwitness_oom_kills_total", namespace=self.namespace)
        self.assertEqual(sorted((l["pod"], l["container"], v) for l, v in series if v), sorted((n, n, 1) for n in names))

    def test_kills_while_no_daemon_runs_are_seen_afterwards(self):
        names = ["orders", "carts"]
        self.create_held(names)
        kubelet = self.node.program["kubelet"]
        self.restart()
        eventually(lambda: self.witness.poll() is not None, "the old daemon ended", 60, 0.02)
        kubelet.send_signal(signal.SIGSTOP)  # nobody starts the new one
        try:
            for name in names:
                self.gate.open(name)
            eventually(lambda: self.kernel_kills() == len(names), "both were killed")
        finally:
            kubelet.send_signal(signal.SIGCONT)
        self.witness.wait_rolled_out()
        self.assert_counted_once(names)
        for name in names:
            incident, = self.incidents_of_pod(name)
            self.assertIn("afterwards", " ".join(incident["notes"]))

    def test_kills_throughout_an_update_are_each_counted_once(self):
        names = [f"orders-{n}" for n in range(PODS)]
        self.create_held(names)
        self.restart()
        for name in names:
            self.gate.open(name)
            time.sleep(0.5)  # over the old daemon's end, the gap, and the new one's start
        self.witness.wait_rolled_out()
        self.assert_counted_once(names)
