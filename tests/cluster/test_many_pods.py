# SPDX-License-Identifier: Apache-2.0
"""Many pods that are killed within a short time: none is missed, none is counted twice, each has its names."""
from kube import objects
from kube.case import ClusterTest
from kube.objects import HOG

PODS = 50
LIMIT_MB = 32  # below some 20 MB runc itself would not always fit


class ManyPods(ClusterTest):
    def test_fifty_pods_are_fifty_incidents(self):
        before = len(self.kernel_log.killed(HOG.strip("/")))
        hog = objects.container("orders", [HOG, "--hold-mb", 4, "--rate-mb-s", 40], LIMIT_MB)
        self.create(*(objects.pod(f"orders-{n}", hog) for n in range(PODS)))
        self.wait_pods(lambda pods: all(pod["status"]["phase"] == "Failed" for pod in pods), "all were killed", 180)
        self.wait_incidents(self.witness, PODS)
        # Of all it killed the kernel logs the name, whatever else of a decision it leaves out in a burst.
        self.assertEqual(len(self.kernel_log.killed(HOG.strip("/"))) - before, PODS)
        incidents = self.own(self.witness.incidents())
        self.assertEqual({i["pod"]["name"] for i in incidents}, {f"orders-{n}" for n in range(PODS)})
        for incident in incidents:
            named = incident["pod"]
            self.assertEqual((named["labels"]["app"], incident["container"]["name"]), (named["name"], "orders"))
            self.assertEqual((incident["scope"], named["restart_count"]), ("container", 0), incident["notes"])
        series = self.witness.scrape().values("oomwitness_oom_kills_total", k8s_namespace_name=self.namespace)
        self.assertEqual(sorted(labels["k8s_pod_name"] for labels, value in series if value == 1), sorted({i["pod"]["name"] for i in incidents}))
