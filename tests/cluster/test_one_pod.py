# SPDX-License-Identifier: Apache-2.0
"""The shortest case: one pod, one kill, and all that is to be known of it."""
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
