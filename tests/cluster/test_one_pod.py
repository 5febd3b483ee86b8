# SPDX-License-Identifier: Apache-2.0
"""The shortest cases: one pod, one kill, and all that is to be known of it; two containers with limits, of which one starts again."""
import os

from kube import objects
from kube.case import ClusterTest
from kube.pod_assertions import PodAssertions


class OnePod(PodAssertions, ClusterTest):
    def test_killed_pod_is_an_incident_with_its_names(self):
        self.create(objects.pod("orders", objects.leaking()))
        incident = self.wait_heap_at_kill("orders")
        pod = self.pod("orders")
        named = incident["pod"]
        self.assertEqual((named["namespace"], named["name"], named["uid"]), (self.namespace, "orders", pod["metadata"]["uid"]))
        self.assertEqual(incident["container"]["name"], "orders")
        self.assertEqual(named["labels"], pod["metadata"]["labels"])
        self.assert_containers_limit(incident)
        self.assertNotIn(incident["verdict"]["cause"], (None, "unknown"), incident["verdict"])


class TwoContainersOnV2(PodAssertions, ClusterTest):
    """What test_pod_kinds.py asks of many pods at once, which is too much for two emulated CPUs."""

    def setUp(self):
        if not os.path.exists("/sys/fs/cgroup/cgroup.controllers"):
            self.skipTest("cgroup v1 has these cases in test_pod_kinds.py (tests/run.sh --only cluster-vm)")
        super().setUp()

    def test_container_that_starts_again_is_killed_twice_and_its_neighbour_never(self):
        self.create(objects.workload("Deployment", "cart", objects.leaking_times(2), objects.idle(limit_mb=32)))
        self.wait_incidents_of_pod("cart", 2)
        replica_set = self.pod("cart")["metadata"]["ownerReferences"][0]["name"]
        incidents = self.assert_named("cart", count=2, owner=("ReplicaSet", replica_set), workload=("Deployment", "cart"))
        self.assertEqual(len({i["container"]["id"] for i in incidents}), 2)
        for incident in incidents:
            self.assertEqual((incident["scope"], incident["limit"]["bytes"]), ("container", 64 << 20), incident["limit"])
        self.assertEqual(self.kills_of(incidents[0]), [("orders", "container", 2)])
