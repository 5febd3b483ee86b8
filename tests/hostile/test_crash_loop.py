# SPDX-License-Identifier: Apache-2.0
"""Attack: a container in a crash loop, 50 kills a second.

Seen: with 20 incidents kept the neighbour's only one was evicted after 3.3 s; with the 200 of the default, one pod in
CrashLoopBackOff does it in 17 h.
Must hold: the bars of hostile_case; the incident of a neighbour killed before it stays, every kill is counted.
"""
from hostile_case import HostileTest, eventually


class CrashLoop(HostileTest):
    loses_incidents = True  # its own: that is what it is about
    KILLS = 150

    def test_the_neighbours_only_incident_stays(self):
        witness = self.fortress("[incidents]\nkeep_count = 20\n")
        before = self.kill_neighbour("before")
        first, _ = self.at_kill_of(witness, before)
        box = self.cgroup("loop", 8)
        self.attack(box, [self.program("crash_loop"), 50, self.KILLS]).wait_output("done", 120)
        after = self.kill_neighbour("after")
        self.assertGreaterEqual(box.kernel_kills(), self.KILLS)
        eventually(lambda: witness.scrape().kills(box.name) == box.kernel_kills(), "every kill is counted", 60)
        eventually(lambda: witness.scrape().sum("oomwitness_incidents_waiting") == 0, "all is written", 60)
        eventually(lambda: len(witness.incidents()) <= 20, "retention's turn", 60)
        self.assertIn(first["id"], [i["id"] for i in self.incidents_of(witness, before)], "evicted by the loop")
        self.assertEqual(len(self.incidents_of(witness, after)), 1)
        self.assertTrue(self.incidents_of(witness, box), "the loop's own newest")
        self.assert_unhurt()
