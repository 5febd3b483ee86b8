# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus scrapes the DaemonSet, with the rules as they are shipped: whom its alerts name."""
from harness.wait import eventually

from kube import objects
from kube.case import ClusterTest
from kube.pki import NODE
from kube.prometheus import Prometheus

LIMIT_MB = 64


class Alerts(ClusterTest):
    def setUp(self):
        super().setUp()
        self.prometheus = self.closing(Prometheus(self.node))

    def alerts_of(self, name, pod):
        """Under whatever names: some label has the pod's name or its UID in it."""
        words = (pod, self.pod(pod)["metadata"]["uid"])
        return [a for a in self.prometheus.alerts(name) if any(word in value for value in a["labels"].values() for word in words)]

    def named(self, alert):
        return tuple(alert["labels"].get(label) for label in ("namespace", "pod", "container"))

    def test_alerts_name_the_pod_once(self):
        self.prometheus.wait('up{job="oomwitness"} == 1')
        self.create(objects.pod("shop-orders", objects.leaking(rate=200, limit_mb=LIMIT_MB)),
                    objects.pod("shop-full", objects.idle("cache", limit_mb=LIMIT_MB, hold_mb=LIMIT_MB - 5)))
        self.wait_incidents_of_pod("shop-orders")
        eventually(lambda: self.alerts_of("OomwitnessOomKill", "shop-orders"),
                   lambda: f"an alert; {self.prometheus.text()[-2000:]}", 60, 0.2)
        eventually(lambda: self.alerts_of("OomwitnessContainerNearLimit", "shop-full"),
                   lambda: f"a pending alert; {self.prometheus.query('oomwitness:nonreclaimable:ratio')}", 60, 0.2)
        self.prometheus.wait(f'count_over_time(up{{instance="{NODE}"}}[1m]) > 5')  # whoever comes late has come
        kill, = self.alerts_of("OomwitnessOomKill", "shop-orders")
        self.assertEqual((self.named(kill), kill["state"]), ((self.namespace, "shop-orders", "orders"), "firing"))
        for words in (f"{self.namespace}/shop-orders (orders): 1 OOM kill(s)", f"on node {NODE}"):
            self.assertIn(words, kill["annotations"]["description"])
        near, = self.alerts_of("OomwitnessContainerNearLimit", "shop-full")
        self.assertEqual((self.named(near), near["state"]), ((self.namespace, "shop-full", "cache"), "pending"))  # fires after 5 minutes
        self.assertIn(f"{self.namespace}/shop-full (cache)", near["annotations"]["description"])
        self.assertEqual(self.prometheus.alerts("OomwitnessDown"), [])
