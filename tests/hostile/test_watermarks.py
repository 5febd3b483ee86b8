# SPDX-License-Identifier: Apache-2.0
"""Attack: four containers of 8 MiB swing across all levels of their limit as fast as they can.

Seen: 3,750 lines of log a second, and 22 % of a core.
Must hold: the bars of hostile_case; the log stays short.
"""
import time

from hostile_case import HostileTest, cpu_seconds


class Watermarks(HostileTest):
    COUNT, SECONDS = 4, 3
    MAX_LINES = 400  # 100 for each container; seen were 3,750 a second

    def test_the_log_is_bounded(self):
        witness = self.fortress(args=())
        lines, cpu = witness.log().count("\n"), cpu_seconds(witness.pid)
        program = self.program("oscillate")
        for number in range(self.COUNT):
            self.attack(self.cgroup(f"swing{number}", 8), [program, 2048, 7400]).wait_output("ready")
        time.sleep(self.SECONDS)  # what is measured is a rate
        written, used = witness.log().count("\n") - lines, cpu_seconds(witness.pid) - cpu
        print(f"      {written} lines and {used * 1e3:.0f} ms of CPU time in {self.SECONDS} s", flush=True)
        self.assertLess(written, self.MAX_LINES)
        self.kill_neighbour()
        self.assert_unhurt()
