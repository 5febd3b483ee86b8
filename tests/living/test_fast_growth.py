# SPDX-License-Identifier: Apache-2.0
"""A container that reaches its limit before its memory could be read: how much is read is by the time that is left."""
from harness.case import E2eTest
from harness.wait import eventually


class FastGrowth(E2eTest):
    def test_growth_of_less_than_a_second_leaves_time_for_the_composition(self):
        """At 80 %, 205 MiB before the limit: a whole reading takes some 1.3 s, the composition 0.1 s."""
        witness = self.daemon()
        box = self.cgroup("fast", 1024)
        self.memhog(box, "--hold-mb", "400", "--rate-mb-s", "1500").wait_killed()
        incident = eventually(lambda: next((i for i in self.incidents_of(witness, box) if i.get("composition")), None),
                              lambda: [(i["id"], i["analyses"], i["notes"]) for i in self.incidents_of(witness, box)], 30)
        self.assertTrue(any("the limit was too near for more" in note for note in incident["notes"]), incident["notes"])
        self.assertNotIn("fillers", incident)
        self.assertGreater(sum(part["bytes"] for part in incident["composition"]["parts"]), 500 << 20)
