# SPDX-License-Identifier: Apache-2.0
"""Attack: one container starts 12,000 programs with 4 KiB of arguments each, by a path that is nearly as long.

Seen: +115 MiB, because 65,536 processes of 8 KiB of strings were kept for 60 s.
Must hold: the bars of hostile_case; the neighbour's process has its name.
"""
import os

from hostile_case import HostileTest


class ExecFlood(HostileTest):
    EXECS = 12_000

    def long_path(self, program):
        """The same file, below directories with long names: 3,900 characters of path. No path may be longer than 4,095."""
        folder = self.public
        while len(folder) < 3_700:
            folder = os.path.join(folder, "d" * 200)
            os.mkdir(folder)
        target = os.path.join(folder, "program")
        os.link(program, target)
        return target

    def test_strings_of_ended_processes_are_not_kept(self):
        self.fortress()
        work = self.attack(self.cgroup("execs", 64), [self.long_path(self.program("exec_flood")), self.EXECS])
        work.wait_output("done", 120)
        self.kill_neighbour()
        self.assert_unhurt()
