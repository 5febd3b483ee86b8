# SPDX-License-Identifier: Apache-2.0
"""Attack: a program that claims to be Go, with 64 MiB of .bss in which each word is a pointer to nothing.

Seen: one live read took 13.5 s against its limit of 1 s, since reads that fail were not counted.
Must hold: the bars of hostile_case for a neighbour that starts beside four of them.
"""
from hostile_case import HostileTest


class BogusPointers(HostileTest):
    COUNT = 4

    def test_a_neighbour_is_read_beside_them(self):
        self.fortress()
        for number in range(self.COUNT):
            box = self.cgroup(f"bogus{number}", 80)  # 64 of 80 MiB: above the first levels, too
            self.attack(box, [self.program("fake_go"), "pointers"]).wait_output("ready")
        self.kill_neighbour()
        self.assert_unhurt()
