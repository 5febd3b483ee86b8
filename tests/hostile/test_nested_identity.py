# SPDX-License-Identifier: Apache-2.0
"""Attack: a container makes the directory of another tenant's pod below its own cgroup, and has itself killed there.

Seen: the kill was counted as the other tenant's, because the last pod in the path was taken.
Must hold: the kill and its incident are the attacker's; the bars of hostile_case.
"""
from hostile_case import HostileTest

OWN_POD, OWN_ID = "11111111-2222-4333-8444-555555555555", "a1" * 32
OTHER_POD, OTHER_ID = "99999999-8888-4777-8666-555555555555", "b2" * 32


class NestedIdentity(HostileTest):
    def pod(self, parent, uid, container, limit_mb=None):
        kubepods = self.raw_cgroup("kubepods", None, parent)
        burstable = self.raw_cgroup("burstable", None, kubepods)
        return self.raw_cgroup(container, limit_mb, self.raw_cgroup("pod" + uid, None, burstable))

    def counted(self, daemon):
        """Here containers have an id, and files that would name them are missing."""
        return sum(int(v) for l, v in daemon.scrape().values("oomwitness_oom_kills_total")
                   if l["k8s_container_name"].startswith((self.prefix, OWN_ID[:12], OTHER_ID[:12])) or l["k8s_container_name"] == "_unnamed")

    def test_a_kill_below_a_forged_pod_is_the_forgers(self):
        witness = self.fortress()
        own = self.pod(self.cgroup("node"), OWN_POD, OWN_ID, 64)
        forged = self.pod(own, OTHER_POD, OTHER_ID, 16)
        self.memhog(forged, "--rate-mb-s", "100").wait_killed()
        incident, = self.wait_incidents(witness, 1)
        said = (incident["container"]["id"], (incident["pod"] or {}).get("uid"))
        self.assertEqual(said, (OWN_ID, OWN_POD))
        self.assertNotIn(OTHER_POD, witness.scrape().text)
        self.assert_unhurt()
