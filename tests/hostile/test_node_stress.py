# SPDX-License-Identifier: Apache-2.0
"""Attack: containers too small for their files keep the disk's queue and the page cache's reclaim full.

Seen: the core thread stood 9.7 s; two kills lost their captures and names.
Must hold: the bars of hostile_case for neighbours killed meanwhile, one after the other.
"""
import os

from hostile_case import HostileTest


class NodeStress(HostileTest):
    STRESSERS, FILE_MB = 3, 64

    def test_kills_under_disk_and_reclaim_stress_are_complete(self):
        self.fortress()
        folder = os.path.join(self.public, "files")
        os.mkdir(folder)
        os.chmod(folder, 0o777)
        for number in range(self.STRESSERS):
            box = self.cgroup(f"disk{number}", 24)
            work = self.attack(box, [self.script("disk_stress.py"), os.path.join(folder, str(number)), self.FILE_MB])
            work.wait_output("ready")
        for number in range(2):
            self.kill_neighbour(f"neighbour{number}")
        self.assert_unhurt()
