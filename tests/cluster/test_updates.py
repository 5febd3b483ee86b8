# SPDX-License-Identifier: Apache-2.0
"""Rolling updates of the DaemonSet while pods are killed: each kill of the kernel's is one incident and counted once, also those
of the seconds in which no daemon runs. tests/bench/cluster_updates.py does so with a hundred."""
import signal

from harness.wait import eventually

from kube.gate import GatedTest
from kube.pki import NODE
from kube.witness import NAMESPACE, PORT

_PODS = f"api/v1/namespaces/{NAMESPACE}/pods"


class Updates(GatedTest):
    def kill(self, names):
        """Those too, by the kernel's count."""
        before = self.kernel_kills()
        for name in names:
            self.gate.open(name)
        eventually(lambda: self.kernel_kills() >= before + len(names), "the kernel's kills", every_s=0.1)

    def restart(self):
        self.node.kubectl("rollout", "restart", "--namespace", NAMESPACE, "daemonset/oomwitness")

    def assert_counted_once(self, names):
        """Each has its incident with its names, and its own count; those incidents."""
        found = []
        for name in names:
            found += self.wait_incidents_of_pod(name)
            self.assertEqual((found[-1]["pod"]["namespace"], found[-1]["pod"]["name"], found[-1]["container"]["name"]),
                             (self.namespace, name, name))
        series = self.witness.scrape().values("oomwitness_oom_kills_total", k8s_namespace_name=self.namespace)
        self.assertEqual(sorted((l["k8s_pod_name"], l["k8s_container_name"], v) for l, v in series if v), sorted((n, n, 1) for n in names))
        return found

    @staticmethod
    def seen_afterwards(incidents):
        return [i["pod"]["name"] for i in incidents if any("seen afterwards" in note for note in i["notes"])]

    def test_kills_before_in_and_after_the_gap_of_an_update(self):
        self.create_held("before", "orders", "carts", "later", restartPolicy="Never")
        kubelet = self.node.program["kubelet"]
        self.kill(["before"])
        self.restart()
        eventually(lambda: self.witness.poll() is not None, "the old daemon ended", 60, 0.02)
        kubelet.send_signal(signal.SIGSTOP)  # the new one is not started
        try:
            self.kill(["orders", "carts"])
        finally:
            kubelet.send_signal(signal.SIGCONT)
        self.witness.wait_rolled_out(is_hurried=True)
        self.kill(["later"])
        incidents = self.assert_counted_once(["before", "orders", "carts", "later"])
        self.assertEqual(self.seen_afterwards(incidents), ["orders", "carts"])

    # --- beside each other: a DaemonSet of 1.20 cannot surge, so a pod of its template stands for the one that is new

    def start_second(self):
        template = self.witness.daemon_set()["spec"]["template"]
        self.assertIn("--standby", template["spec"]["containers"][0]["args"])
        made = {"apiVersion": "v1", "kind": "Pod", "spec": {**template["spec"], "nodeName": NODE},
                "metadata": {"name": "oomwitness-surge", "namespace": NAMESPACE}}  # without the labels: it would be adopted
        self.api.create(made)
        self._stack.callback(self.api.delete, f"{_PODS}/oomwitness-surge")
        self.wait_ready("oomwitness-surge")

    def wait_ready(self, name):
        """As a DaemonSet that surges waits for the new pod before it ends the old one."""
        def is_ready():
            pod, = [p for p in self.witness.pods() if p["metadata"]["name"] == name]
            address = pod["status"].get("podIP")
            return address and self.node.http_get(address, PORT, "/readyz")

        eventually(is_ready, lambda: f"{name} is ready: {self.witness.log()[-2000:]}", 60, 0.1)

    def daemons_pod(self):
        """None between the end of the old one and the making of the new one."""
        return next((p["metadata"]["name"] for p in self.witness.pods() if p["metadata"]["name"] != "oomwitness-surge"), None)

    def end(self, name):
        """With its own grace, as an update does."""
        self.api.call("DELETE", f"{_PODS}/{name}")

    def test_kills_while_two_daemons_hand_over_are_seen_as_they_happen(self):
        names = [f"orders-{n}" for n in range(8)]
        self.create_held(*names, restartPolicy="Never")
        self.start_second()
        self.kill(names[:2])  # both see them
        old = self.daemons_pod()
        self.end(old)
        self.kill(names[2:4])
        eventually(lambda: self.witness.forget_ended() and self.daemons_pod() not in (None, old), "the DaemonSet's next pod", 60, 0.1)
        self.wait_ready(self.daemons_pod())
        self.kill(names[4:6])
        self.end("oomwitness-surge")
        self.kill(names[6:])
        self.witness.wait_rolled_out(is_hurried=True)
        self.assertEqual(self.seen_afterwards(self.assert_counted_once(names)), [])
