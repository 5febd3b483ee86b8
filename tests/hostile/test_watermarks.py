# SPDX-License-Identifier: Apache-2.0
"""Attack: four containers of 8 MiB swing across all levels of their limit as fast as they can.

Seen: 3,750 lines of log a second, and 22 % of a core.
Must hold: the bars of hostile_case; the log stays short.
"""
import time

from harness.process_state import _read
from hostile_case import HostileTest


class Watermarks(HostileTest):
    COUNT, SECONDS = 4, 3
    MAX_LINES = 400  # 100 for each container; seen were 3,750 a second

    def test_the_log_is_bounded(self):
        witness = self.fortress(args=())
        lines, cpu = witness.log().count("\n"), self.cpu_ticks()
        program = self.program("oscillate")
        for number in range(self.COUNT):
            self.attack(self.cgroup(f"swing{number}", 8), [program, 2048, 7400]).wait_output("ready")
        time.sleep(self.SECONDS)  # what is measured is a rate
        written, used = witness.log().count("\n") - lines, self.cpu_ticks() - cpu
        print(f"      {written} lines and {used * 10} ms of CPU time in {self.SECONDS} s", flush=True)
        self.assertLess(written, self.MAX_LINES)
        self.kill_neighbour()
        self.assert_unhurt()

    def cpu_ticks(self):
        words = _read(f"/proc/{self.witness.pid}/stat").rpartition(")")[2].split()
        return int(words[11]) + int(words[12])
