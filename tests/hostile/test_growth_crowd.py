# SPDX-License-Identifier: Apache-2.0
"""Attack: five containers of eight processes that stand still above half of their limits, as servers with workers do.

Seen: they kept the 32 places of those whose growth is sampled for as long as they lived, and nobody's growth on the node
was sampled from then on.
Must hold: the bars of hostile_case; the neighbour's growth is sampled up to its kill.
"""
from hostile_case import HostileTest, eventually

CROWD = """
import os, time
for _ in range(7):
    if os.fork() == 0: break
kept = b"x" * (4 << 20)
os.write(1, b"up\\n")
time.sleep(1000)
"""


class GrowthCrowd(HostileTest):
    def test_the_neighbours_growth_is_sampled(self):
        witness = self.fortress()
        boxes = [self.cgroup(f"crowd{i}", 72) for i in range(5)]
        for box in boxes:
            self.attack(box, ["/usr/bin/python3", "-c", CROWD]).wait_output("\n".join(["up"] * 8), 60)
        eventually(lambda: all(box.usage() > 36 << 20 for box in boxes), "all are above half of their limits", 30)
        neighbour = self.kill_neighbour("neighbour")
        incident, _ = self.at_kill_of(witness, neighbour)
        told = eventually(lambda: next((i for i in self.incidents_of(witness, neighbour) if i.get("growth")), None),
                          lambda: f"growth of the neighbour: {self.incidents_of(witness, neighbour)}", 60)
        self.assertEqual(told["id"], incident["id"])
        self.assertGreater(told["growth"]["samples"], 0)
        self.assert_unhurt()
