# SPDX-License-Identifier: Apache-2.0
"""Attack: 2,000 containers that each are killed once fill the ledger of kill counts.

Seen: the ledger was full for ever; the counter of every new container showed 0 after its kill.
Must hold: the bars of hostile_case. No series shows 0 for something that happened, and no kill is missing in the sum.
The 2,000 kills are written into the ledger of an earlier run, in the form in which the daemon itself left it: to make
them takes minutes on a busy machine.
"""
import os

from harness import fileio
from hostile_case import HostileTest, eventually

TOTAL = "oomwitness_oom_kills_total"


class LabelSets(HostileTest):
    SETS = 2_000
    counts_by_name = False  # the sets are young: further ones are folded, and the sum is what must agree

    def fill_ledger(self):
        """A daemon counts one kill and leaves its ledger, whose set is then multiplied."""
        self.fortress()
        box = self.cgroup("first", 16)
        self.memhog(box, "--rate-mb-s", "100").wait_killed()
        self.wait_counted(self.witness, 1)
        self.watch.stop()
        self.witness.stop()
        path = os.path.join(self.witness.data_dir, "kills.json")
        ledger = fileio.read_json(path)
        first, = [kills for kills in ledger["kills"] if kills["container"] == box.name]
        ledger["kills"] += [dict(first, container=f"gone-{number}") for number in range(self.SETS)]
        fileio.write_json(path, ledger)
        return box

    def test_a_kill_after_2000_label_sets_is_seen(self):
        self.fill_ledger()
        self.fortress()
        before = self.all_kills()
        self.assertGreaterEqual(before, self.SETS)
        last = self.cgroup("last", 16)
        self.memhog(last, "--rate-mb-s", "100").wait_killed()
        eventually(lambda: self.all_kills() > before, "the kill is in the sum", 30)
        shown = [value for labels, value in self.witness.scrape().values(TOTAL) if labels["k8s_container_name"] == last.name]
        self.assertNotIn(0, shown, "a series that says that nothing happened")
        self.assert_unhurt()

    def all_kills(self):
        return self.witness.scrape().sum(TOTAL)

    def assert_every_kill_seen(self):
        """Sets may be folded here: no container's own series, but the sum over all must agree."""
        kernel = self.kernel_kills() + self.SETS
        eventually(lambda: self.all_kills() >= kernel, lambda: f"kernel and ledger {kernel}, all series {self.all_kills()}", 60)
