# SPDX-License-Identifier: Apache-2.0
"""Programs on a file system that never answers must not hold up what is done for the others."""
import os

from harness import fuse, tools
from harness.go_heap import GoHeapTest
from harness.wait import eventually


class HungFile(GoHeapTest):
    alone = True
    patience = 1

    def setUp(self):
        super().setUp()
        self.files = fuse.mounted(self, os.path.join(self.scratch, "fuse"), tools.go_program("1.19", "strip"))

    def lost(self, witness, stage):
        return witness.scrape().sum("oomwitness_events_lost_total", stage=stage)

    def test_go_programs_on_it_take_a_few_threads_and_no_capture_of_others(self):
        for number in range(6):
            self.leaker(self.cgroup(f"hung{number}", 64), "-limit-mb", 1, program=self.files.path, rate=1)
        self.files.hang()
        witness = self.daemon()
        eventually(lambda: self.lost(witness, "hung_files") >= 1, "a thread that hangs is given up")
        self.assertGreater(self.files.unanswered, 0)
        for number in range(2):
            self.assert_complete(witness, self.kill_leaker(f"other{number}"))
        self.assertLessEqual(self.lost(witness, "hung_files"), 4)
        # The kernel lets no process that waits for an answer end, not even by SIGKILL: the daemon ends after this.
        self.files.close()
