# SPDX-License-Identifier: Apache-2.0
"""Attack: executables of 2 MiB whose 250 segments overlap, each of them searched for a function table.

Seen: 9 s of the daemon's CPU time at nice -10 for each; six of them occupied all that inspect programs.
Must hold: the bars of hostile_case for a Go program that starts after them.
"""
import profiles
from hostile_case import HostileTest


class OverlappingSegments(HostileTest):
    COUNT = 6

    def test_a_neighbour_that_starts_after_them_is_read(self):
        self.fortress()
        image = profiles.overlapping_elf()
        box = self.cgroup("elves", 128)
        for number in range(self.COUNT):
            self.attack(box, [self.write_public(f"elf{number}", image + bytes([number]), 0o755)])
        self.kill_neighbour()
        self.assert_unhurt()
