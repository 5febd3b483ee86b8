# SPDX-License-Identifier: Apache-2.0
"""Attack: a container runtime's state lies on a file system that stops answering, and a new container appears.

Seen: the core thread opened the bundle itself, so the first such container ended all observation.
Must hold: the bars of hostile_case; the container whose bundle hangs is known by its path, and its kill is counted.
"""
import os

from harness import fuse
from harness.cgroup import MemoryCgroup
from hostile_case import MIB, HostileTest

IDS = [f"{number:02x}" * 32 for number in range(16)]


class HangingBundles(HostileTest):
    def test_bundles_that_hang_hold_up_nobody(self):
        tasks = os.path.join(self.public, "run/containerd/io.containerd.runtime.v2.task")
        files = fuse.mounted(self, tasks, os.path.abspath(__file__))
        witness = self.fortress(f'host_root = "{self.public}"\n')
        files.hang((fuse.OPENDIR, fuse.LOOKUP, fuse.GETATTR, fuse.ACCESS, fuse.OPEN, fuse.READ))
        node = self.cgroup("node")
        for number in IDS:
            box = self.closing(MemoryCgroup(f"cri-containerd-{number}.scope", 32 * MIB, node))
            self.cgroups.append(box)
        self.memhog(box, "--rate-mb-s", "100").wait_killed()
        incident, = self.wait_incidents(witness, 1)
        self.assertEqual(incident["container"]["id"], IDS[-1])
        self.assertGreater(files.unanswered, 0, "nothing was asked of the file system")
        self.assert_unhurt()
        files.close()

    def counted(self, daemon):
        """A container without a name is counted by its runtime."""
        return sum(int(v) for l, v in daemon.scrape().values("oomwitness_oom_kills_total")
                   if l["k8s_container_name"].startswith((self.prefix, "containerd")))
