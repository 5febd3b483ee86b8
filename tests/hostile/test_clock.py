# SPDX-License-Identifier: Apache-2.0
"""Attack: the node's wall clock jumps 40 days ahead, as a wrong time server or a dead battery makes it.

Seen: all incidents were deleted at the next turn of retention, being older than 30 days.
Must hold: the incident of a neighbour killed before the jump stays; a kill after it has its incident.
"""
import os
import struct
import time

from harness import fileio, tools
from hostile_case import HERE, HostileTest

DAYS_40 = 40 * 86400


class Clock(HostileTest):
    FIRST_TURN_S = 7
    TURN_S = 12  # retention comes 5 s after an incident, and /metrics shows it up to 5 s later

    def library(self):
        source = os.path.join(HERE, "programs/shifted_clock.c")
        target = os.path.join(tools.CACHE, "workloads/hostile/shifted_clock.so")
        return tools._build(target, [source], ["gcc", "-O1", "-shared", "-fPIC", "-o", target, source, "-ldl"])

    def test_a_jump_of_40_days_deletes_nothing(self):
        shift = os.path.join(self.scratch, "shift")
        fileio.write(shift, bytes(4096))
        witness = self.fortress(prefix=["env", f"LD_PRELOAD={self.library()}", f"OOMW_CLOCK_SHIFT={shift}"])
        before = self.kill_neighbour("before")
        self.assert_unhurt()
        # The clocks are compared when retention has its turn, the first time 5 s after the start.
        time.sleep(max(0.0, self.witness.started_at + self.FIRST_TURN_S - time.monotonic()))
        with open(shift, "r+b") as f:
            f.write(struct.pack("<q", DAYS_40))
        after = self.kill_leaker("after", limit_mb=self.NEIGHBOUR_MB)
        self.at_kill_of(witness, after)
        self.wait_for_retention(witness)
        self.assertEqual(len(self.incidents_of(witness, before)), 1, "deleted by the clock")
        self.assertEqual(len(self.incidents_of(witness, after)), 1)

    def wait_for_retention(self, witness):
        """Until it has pruned, or surely had its turn."""
        end = time.monotonic() + self.TURN_S
        while time.monotonic() < end and not witness.scrape().sum("oomwitness_incidents_pruned_total"):
            time.sleep(0.2)
