# SPDX-License-Identifier: Apache-2.0
"""Attack: a victim's mmap_lock is held by children of idle priority that get no CPU time, while it is killed.

Seen: the core thread read /proc/PID/cmdline of the victim, which takes that lock, and stood 20 to 33 s; all incidents
were so late, and /healthz was ok all the time.
Must hold: the bars of hostile_case for a neighbour that is killed at that moment.
"""
import os

from hostile_case import HostileTest, eventually


class LockHolder(HostileTest):
    def test_neighbours_do_not_wait_for_the_victims_lock(self):
        self.fortress()
        go = os.path.join(self.public, "go")
        box = self.cgroup("holder", 128)
        work = self.attack(box, [self.program("lock_holder"), go])
        work.wait_output("ready")
        open(go, "w").close()
        for number in range(3):
            self.kill_neighbour(f"neighbour{number}")
        eventually(lambda: box.kernel_kills() > 0, work.describe, 60)
        box.close()  # no kill after those that are compared
        self.assert_unhurt()
