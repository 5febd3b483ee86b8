# SPDX-License-Identifier: Apache-2.0
"""A service that keeps its processes in groups of its own making (Delegate=yes)."""
from guest import MEMHOG, GuestTest

CGROUPS = "/sys/fs/cgroup"


class Delegation(GuestTest):
    def test_the_unit_s_limit_is_its_own_however_deep_below_it_the_victim_lived(self):
        path = "/system.slice/grouped.service"
        # systemd makes "$" of "$$".
        script = (f"cd {CGROUPS}{path} && mkdir worker && echo $$$$ >worker/cgroup.procs && echo +memory >cgroup.subtree_control"
                  f" && exec {MEMHOG} --rate-mb-s 0")
        self.run_unit("grouped.service", ["/bin/sh", "-c", script], properties=["MemoryMax=40M", "Delegate=yes"])
        decision = self.wait_decision(path)
        self.assertEqual((decision.owner_path, decision.victim_path), (path, path + "/worker"))
        incident = self.wait_incident(path)
        self.assertEqual([v["pid"] for v in incident["victims"]], decision.killed)
        self.assertEqual(incident["container"]["unit"], "grouped.service")
        self.assertEqual((incident["limit"]["owner_cgroup_path"], incident["scope"]), (path, "container"))
