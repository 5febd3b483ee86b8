# SPDX-License-Identifier: Apache-2.0
"""What Kubernetes never reports is said once its status has had half a minute to come. The pod was created by test_pod_kinds.py,
so that other cases run in that time."""
from harness.wait import eventually

from kube import child_victim
from kube.case import ClusterTest
from kube.objects import HOG
from kube.pod_assertions import PodAssertions


class UnreportedKills(PodAssertions, ClusterTest):
    def begin(self, add_cleanup):
        self.enter(child_victim.create_once(self))

    def test_victim_that_is_a_child_is_never_in_a_status(self):
        incident = self.assert_named("child")[0]
        self.assert_containers_limit(incident)
        self.assertEqual([v["comm"] for v in incident["victims"]], [HOG.strip("/")])
        status = self.pod("child")["status"]["containerStatuses"][0]
        self.assertEqual((list(status["state"]), status["restartCount"]), (["running"], 0))
        eventually(lambda: self.disagreements() == {"child": "kill_not_in_status"}, lambda: f"{self.disagreements()}")
