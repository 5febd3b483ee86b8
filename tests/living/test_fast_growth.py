# SPDX-License-Identifier: Apache-2.0
"""A container that reaches its limit before its memory could be read: how much is read is by the time that is left."""
import os
import unittest

from harness import pprof
from harness.case import E2eTest, judged
from harness.daemon import run_cli
from harness.wait import eventually

PYTHON = "/usr/bin/python3"
TOP_LEVEL = "[kernel]\ntime_to_limit_seconds = 0\n[triggers]\ncapture_percents = [95]\n"

# Objects as fast as they are made up to the first size, then at most so many MiB a second up to the second one, where it
# stays until the file is there; then to its limit.
PACED = """
import gc, os, sys, time
first, second, rate, file = float(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
gc.disable()
class Order:
    __slots__ = ("a", "b")
orders = []
def grow():
    orders.extend([Order() for i in range(10_000)])
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) / 256
while grow() < first:
    pass
size = grow()
while size < second:
    before, size = size, grow()
    time.sleep((size - before) / rate)
print("made", len(orders), flush=True)
while not os.path.exists(file):
    time.sleep(0.01)
while True:
    grow()
"""


class FastGrowth(E2eTest):
    @judged
    def test_growth_of_less_than_a_second_leaves_time_for_the_composition(self):
        """At 80 %, 205 MiB before the limit: a whole reading takes some 1.3 s, the composition 0.1 s."""
        witness = self.daemon()
        box = self.cgroup("fast", 1024)
        self.memhog(box, "--hold-mb", "400", "--rate-mb-s", "1500").wait_killed()
        incident = self.filled_incident(witness, box)
        self.assertTrue(any("the limit was too near for more" in note for note in incident["notes"]), incident["notes"])
        self.assertNotIn("fillers", incident)
        self.assertGreater(sum(part["bytes"] for part in incident["composition"]["parts"]), 500 << 20)

    def killed_at_a_rate_of(self, witness, rate):
        """The incident, and how many objects there were when it was read."""
        box = self.cgroup(f"sampled-{rate}", 1024)
        go_on = os.path.join(self.scratch, f"go-on-{rate}")
        victim = self.start([PYTHON, "-S", "-c", PACED, "850", "995", str(rate), go_on], box)
        eventually(lambda: any("ANALYSIS" in line and box.path in line for line in witness.log().splitlines()),
                   witness.log, 60)
        open(go_on, "w").close()
        victim.wait_killed()
        return self.filled_incident(witness, box), int(victim.text().split()[1])

    @judged
    @unittest.skipUnless(os.path.exists(PYTHON), f"there is no {PYTHON}")
    def test_growth_that_leaves_no_time_for_all_objects_leaves_it_for_a_sample(self):
        """At 95 %, 51 MiB before the limit: below 50 MiB/s a whole reading fits, above 260 no sample either. How fast
        it grows is by the machine, too."""
        witness = self.daemon(TOP_LEVEL)
        seen = []
        for rate in (300, 900, 150, 75):
            incident, made = self.killed_at_a_rate_of(witness, rate)
            sampled = next(a for a in incident["analyses"] if a["trigger"] == "watermark_95")
            self.assertEqual(sampled["result"], "ok", sampled)
            seen.append((rate, sampled))
            if "sampled_ratio" in sampled:
                break
        self.assertIn("sampled_ratio", sampled, seen)
        self.assertTrue(0.01 < sampled["sampled_ratio"] <= 0.51, sampled)
        orders = next(f for f in incident["fillers"] if f["name"] == "Order")
        error = orders["error_bytes"] / orders["bytes"]
        self.assertAlmostEqual(orders["count"], made, delta=made * (0.05 + 2 * error), msg=(orders, sampled))
        self.assertNotIn("holder", [f["kind"] for f in incident["fillers"]])
        self.assertIn("by a sample", incident["answer"]["sentence"])
        with open(os.path.join(incident["_dir"], "report.md"), encoding="utf-8") as file:
            self.assertRegex(file.read(), r"\| about .* \| about .* MiB \+- .* \| about \d+ \| Order \|")
        self.assertEqual(pprof.read(os.path.join(incident["_dir"], "contents.pb.gz")).types[0], "contents")
        self.assertIn("estimated by a sample", run_cli("top", incident["_dir"]).stdout)
