# SPDX-License-Identifier: Apache-2.0
"""What an incident has to know of its pod, whatever made that."""
from harness.wait import eventually

from . import objects
from .case import uid_of
from .pki import NODE

MIB = 1 << 20
LIMIT_MB = 64


class PodAssertions:
    """For a ClusterTest."""

    def assert_named(self, name, container="orders", count=1, owner=None, workload=None):
        """All that an incident has to know of its pod; the incidents, oldest first."""
        incidents = self.wait_incidents_of_pod(name, count)
        pod = self.pod(name)
        for restarts, incident in enumerate(incidents):
            named = incident["pod"]
            self.assertEqual((named["namespace"], named["name"], named["uid"], named["node"]),
                             (self.namespace, pod["metadata"]["name"], uid_of(pod), NODE))
            self.assertEqual((incident["container"]["name"], incident["container"]["runtime"]), (container, "containerd"))
            self.assertEqual(incident["container"]["image"], objects.VICTIM)
            self.assertEqual(named["labels"], pod["metadata"].get("labels", {}))
            self.assertEqual(named["restart_count"], restarts, incident["notes"])
            self.assertEqual(named["owner"] and (named["owner"]["kind"], named["owner"]["name"]), owner)
            if workload:
                found = named.get("workload") or {}
                self.assertEqual((found.get("kind"), found.get("name")), workload)
        return incidents

    def assert_containers_limit(self, incident, limit_mb=LIMIT_MB):
        """The container's, whichever of two equal ones was hit: scope, limit and cause are those of a plain container."""
        self.assertEqual((incident["scope"], incident["limit"]["bytes"]), ("container", limit_mb * MIB), incident["limit"])
        causes = [incident["verdict"]["cause"], *(a["cause"] for a in incident["verdict"].get("also", []))]
        self.assertNotIn("ancestor_limit", causes, incident["verdict"])
        self.assertEqual(self.kills_of(incident), [(incident["container"]["name"], "container", 1)])

    def wait_heap_at_kill(self, name):
        """The pod's one incident, once it has the whole heap: what was read at the kill is added after it was written."""
        def whole():
            captures = self.wait_incidents_of_pod(name)[0]["captures"]
            return [c for c in captures if c["method"] == "at_kill" and c["result"] == "ok" and c["complete"]]

        eventually(whole, lambda: f"a heap at the kill: {self.incidents_of_pod(name)[0]['captures']}")
        return self.incidents_of_pod(name)[0]

    def kills_of(self, incident):
        """Of its pod, as metrics have them: [(container, scope, kills)]; what never had one has a series, too."""
        series = self.witness.scrape().values("oomwitness_oom_kills_total", k8s_namespace_name=self.namespace,
                                               k8s_pod_name=incident["pod"]["name"])
        return [(labels["k8s_container_name"], labels["scope"], value) for labels, value in series if value]

    def disagreements(self):
        """By pod: what the kernel and Kubernetes do not agree upon."""
        return {i["pod"]["name"]: i["pod"]["disagreement"]["kind"] for i in self.own(self.witness.incidents())
                if i["pod"].get("disagreement")}
