# SPDX-License-Identifier: Apache-2.0
"""The base of the other tests must be right, above all when they fail."""
from harness.case import E2eTest
from harness.wait import NotInTime


class Waiting(E2eTest):
    def test_workload_that_stands_still_is_described(self):
        box = self.cgroup("still", 64)
        work = self.start(["/bin/sh", "-c", "echo begun; exec /bin/sleep 1000"], box)
        work.wait_output("begun")
        with self.assertRaises(NotInTime) as caught:
            work.wait_output("never", deadline_s=0.2)
        message = str(caught.exception)
        for word in ("'never'", "State: S (sleeping)", "VmRSS: ", f"thread {work.pid}: wchan ", "syscall ",
                     "usage ", f"limit {box.limit_bytes}", "kills 0", "output: 'begun\\n'"):
            self.assertIn(word, message)

    def test_output_read_while_it_is_written_stays_whole(self):
        script = "for i in $(seq 3000); do echo line $i; done; echo end; exec /bin/sleep 1000"
        work = self.start(["/bin/sh", "-c", script], self.cgroup("chatty", 64))
        seen = ""
        while "end" not in seen:
            seen = work.text()  # as often as we can: reading must not move where it writes
        self.assertEqual(seen, "".join(f"line {i}\n" for i in range(1, 3001)) + "end\n")
