# SPDX-License-Identifier: Apache-2.0
"""Kubelet and containerd stopped and started again, and kubelet evicting pods, while the kernel kills others."""

from harness import fileio
from harness.process_state import memory_total
from harness.wait import eventually

from kube import objects
from kube.gate import GatedTest
from kube.programs import kubelet_config

MIB = 1 << 20


class NodePrograms(GatedTest):
    def kill(self, name, life=1):
        self.gate.open(name, life)
        incident = self.wait_incidents_of_pod(name, life)[life - 1]
        named = incident["pod"]
        self.assertEqual((named["namespace"], named["name"], incident["container"]["name"]), (self.namespace, name, name))
        self.assertEqual(named["labels"], {"app": name, "team": "payments"})
        self.assertEqual(incident["limit"]["bytes"], 64 * MIB)
        return incident

    def start_kubelet(self, **config):
        """With a configuration of its own, as it would be started after an update."""
        fileio.write_json(self.node.path("kubelet.json"), {**kubelet_config(self.node), **config})
        self.node.start("kubelet")

    def restarted(self, name, count):
        def is_so():
            status, = self.pod(name)["status"]["containerStatuses"]
            return status["restartCount"] == count and "running" in status["state"]

        eventually(is_so, lambda: f"{name} runs for the {count + 1}. time: {self.pod(name)['status']}", 60, 0.2)

    def test_kubelet_gone_and_back(self):
        self.create_held("orders")
        self.node.stop("kubelet")
        self._stack.callback(self.ensure_kubelet)
        self.assertEqual(self.kill("orders")["pod"]["restart_count"], 0)
        self.start_kubelet()
        self.restarted("orders", 1)
        self.assertEqual(self.kill("orders", 2)["pod"]["restart_count"], 1)

    def ensure_kubelet(self):
        """With the configuration of all, and a node that takes pods, for the next test."""
        if self.node.program["kubelet"].poll() is None:
            self.node.stop("kubelet")
        self.start_kubelet()
        eventually(self.node.is_ready, "the node is ready", 60, 0.2)

    def test_containerd_gone_and_back(self):
        self.create_held("orders")
        self.node.stop("containerd")
        try:
            self.assertEqual(self.kill("orders")["pod"]["restart_count"], 0)
        finally:
            self.node.start("containerd")
        self.restarted("orders", 1)
        self.assertEqual(self.kill("orders", 2)["pod"]["restart_count"], 1)
        eventually(self.node.is_ready, "the node is ready", 60, 0.2)

    def test_evicted_pod_is_no_incident_and_the_kernels_victim_beside_it_is(self):
        """A soft threshold: a hard one would take the memory from what the node may give to pods, at once."""
        self.create_held("orders")
        self.create(objects.pod("evicted", objects.idle("evicted", hold_mb=48)))
        self.wait_pods(lambda pods: self.pod("evicted")["status"]["phase"] == "Running", "evicted runs")
        self.node.stop("kubelet")
        self._stack.callback(self.ensure_kubelet)
        threshold = {"memory.available": f"{memory_total() // MIB - 256}Mi"}
        self.start_kubelet(evictionSoft=threshold, evictionSoftGracePeriod={"memory.available": "0s"}, evictionPressureTransitionPeriod="0s")
        self.kill("orders")
        self.wait_pods(lambda pods: self.pod("evicted")["status"].get("reason") == "Evicted", "the pod is evicted")
        self.assertEqual(self.incidents_of_pod("evicted"), [])
        self.assertEqual([i["pod"]["disagreement"] for i in self.own(self.witness.incidents()) if i["pod"].get("disagreement")], [])
        evicted = [v for labels, v in self.witness.scrape().values("oomwitness_oom_kills_total", k8s_pod_name="evicted") if v]
        self.assertEqual(evicted, [])
        self.assertEqual([p["status"]["phase"] for p in self.witness.pods()], ["Running"], "a critical pod is not evicted")
