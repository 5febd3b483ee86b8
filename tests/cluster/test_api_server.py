# SPDX-License-Identifier: Apache-2.0
"""The API server frozen, gone, and back: kills meanwhile have the names that were known before, or those of the runtime's
files, and nothing is claimed that only an API server could know."""
import contextlib
import json
import signal

from harness.wait import eventually

from kube import objects
from kube.gate import GatedTest
from kube.pki import NODE
from kube.processes import kill_daemon

_SERVER = "kube-apiserver"


class ApiServerAway(GatedTest):
    def setUp(self):
        super().setUp()
        self.disagreements_before = self.disagreements()

    def disagreements(self):
        return self.witness.scrape().sum("oomwitness_kubernetes_disagreements_total")

    def state(self):
        return [labels["state"] for labels, value in self.witness.scrape().values("oomwitness_kubernetes_state") if value]

    def create_held(self, *names):
        """They run, and oomwitness knows it: it learns of them in turn, and of the last one last."""
        super().create_held(*names)
        self.create(objects.pod("last", objects.idle()))
        eventually(self.knows_all, lambda: self.witness.scrape().text)

    @staticmethod
    def is_running(pod):
        statuses = pod["status"].get("containerStatuses", [])
        return bool(statuses) and "running" in statuses[0]["state"]

    def knows_all(self):
        there = [p for p in self.api.get("api/v1/pods")["items"] if p["spec"].get("nodeName") == NODE]
        return self.witness.scrape().sum("oomwitness_kubernetes_pods") == len(there)

    @contextlib.contextmanager
    def frozen(self):
        server = self.node.program[_SERVER]
        self.assertTrue(self.witness.address)  # it cannot be asked for now
        server.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            server.send_signal(signal.SIGCONT)
            eventually(self.api.is_ready, "the API server is ready", 60, 0.1)

    @contextlib.contextmanager
    def stopped(self):
        self.assertTrue(self.witness.address)
        self.node.stop(_SERVER, signal.SIGKILL)
        try:
            yield
        finally:
            self.node.start(_SERVER)
            eventually(self.api.is_ready, "the API server is ready", 60, 0.1)
            eventually(self.node.is_ready, "the node is ready", 60, 0.1)

    def kill(self, name, life=1):
        """Lets it go; the incident of that life."""
        self.gate.open(name, life)
        return self.wait_incidents_of_pod(name, life)[life - 1]

    def assert_names(self, incident, name):
        named = incident["pod"]
        self.assertEqual((named["namespace"], named["name"], incident["container"]["name"]), (self.namespace, name, name))

    def assert_known_before(self, incident, name):
        self.assert_names(incident, name)
        self.assertEqual(incident["pod"]["labels"], {"app": name, "team": "payments"})

    def assert_from_files_alone(self, incident, name):
        self.assert_names(incident, name)
        self.assertFalse(incident["pod"]["labels"], "only the API has them")
        self.assertIsNone(incident["pod"]["restart_count"], incident["notes"])

    def assert_no_disagreement(self, *names):
        """Once Kubernetes has its own status of each."""
        for name in names:
            eventually(lambda: self.is_oom_killed(name), lambda: f"{name}: {self.pod(name)['status']}")
        claimed = {i["pod"]["name"]: i["pod"]["disagreement"] for i in self.own(self.witness.incidents()) if i["pod"].get("disagreement")}
        self.assertEqual((claimed, self.disagreements()), ({}, self.disagreements_before))

    def is_oom_killed(self, name):
        status, = self.pod(name)["status"].get("containerStatuses", [{}])
        ends = [status.get(when, {}).get("terminated", {}) for when in ("state", "lastState")]
        return "OOMKilled" in [end.get("reason") for end in ends]

    def write_static_pod(self, name):
        made = objects.pod(name, objects.leaking(name, rate=200))
        made["metadata"]["namespace"] = self.namespace
        self.node.write_static_pod(f"{name}.json", json.dumps(made))
        self._stack.callback(self.node.write_static_pod, f"{name}.json", "")

    def test_frozen(self):
        self.create_held("orders", "carts")
        with self.frozen():
            first = self.kill("orders")
            carts = self.kill("carts")
            second = self.kill("orders", 2)
            self.write_static_pod("proxy")
            static = self.wait_incidents_of_pod(f"proxy-{NODE}")[0]
        for name, incident in (("orders", first), ("carts", carts), ("orders", second)):
            self.assert_known_before(incident, name)
        self.assertEqual((first["pod"]["restart_count"], carts["pod"]["restart_count"]), (0, 0))
        self.assertIn(second["pod"]["restart_count"], (None, 1), "what the server says of another container is not this one's")
        self.assert_names({**static, "container": {"name": f"proxy-{NODE}"}}, f"proxy-{NODE}")
        # kubelet reports it to the server up to a minute after the server is back; its cgroup has the file's hash.
        self.of_this_case(static["pod"]["uid"])
        self.assertEqual((static["container"]["name"], static["pod"]["restart_count"]), ("proxy", None), static["notes"])
        eventually(lambda: self.pod("carts")["status"]["containerStatuses"][0]["restartCount"] == 1 and
                   self.is_running(self.pod("carts")), lambda: f"carts runs again: {self.pod('carts')['status']}")
        after = self.kill("carts", 2)
        self.assert_known_before(after, "carts")
        self.assertEqual(after["pod"]["restart_count"], 1, after["notes"])
        self.assert_no_disagreement("orders", "carts")

    def test_gone_and_the_daemon_crashes_meanwhile(self):
        self.create_held("orders", "carts")
        daemons_pod, = self.witness.pods()
        with self.stopped():
            known = self.kill("orders")
            kill_daemon(self.witness, daemons_pod)
            unknown = self.kill("carts")
        self.assert_known_before(known, "orders")
        self.assertEqual(known["pod"]["restart_count"], 0)
        self.assert_from_files_alone(unknown, "carts")
        eventually(lambda: self.state() == ["watching"], lambda: self.witness.scrape().text, 90, 0.2)
        after = self.kill("carts", 2)
        self.assert_known_before(after, "carts")
        self.assertEqual(after["pod"]["restart_count"], 1, after["notes"])
        self.assert_no_disagreement("orders", "carts")
