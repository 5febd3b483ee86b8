# SPDX-License-Identifier: Apache-2.0
"""The process that parses what containers send: the daemon's memory does not grow with it, and it breaks alone."""
import os
import signal

from harness import tools
from harness.case import MIB, E2eTest
from harness.daemon import CAPTURE_AT_80
from harness.process_state import children, status_bytes
from harness.wait import eventually

CONFIG = CAPTURE_AT_80 + "[capture.http]\ntimeout_seconds = 10\n"


class ReaderProcess(E2eTest):
    alone = True
    patience = 1

    LIMIT_MB, FILL_MB = 96, 76

    def captured(self, witness, name, mode):
        """What became of the capture of a new container whose endpoint does that."""
        box = self.cgroup(name, self.LIMIT_MB)
        work = self.start(["/usr/bin/python3", tools.hostile_endpoint(), mode, str(self.FILL_MB), "40",
                           os.path.join(self.scratch, "never")], box)
        work.wait_output("filled")

        def result():
            return [e for e in witness.events("capture") if e["cgroup"] == box.inode and e["method"] == "http"]
        return box, lambda: eventually(result, lambda: f"a capture of {mode}; {work.describe()}")[0]

    def test_bombs_and_large_bodies_leave_the_daemon_small(self):
        witness = self.daemon(CONFIG, args=["--json"])
        before = status_bytes(witness.pid, "VmHWM")
        waits = [self.captured(witness, f"{mode}{n}", mode)[1] for mode in ("heavy", "raw") for n in range(2)]
        results = [wait() for wait in waits]
        daemon, readers = status_bytes(witness.pid, "VmHWM"), children(witness.pid)
        print(f"daemon {before / MIB:.1f} -> {daemon / MIB:.1f} MiB at most, "
              f"readers {[status_bytes(pid, 'VmHWM') / MIB for pid in readers]} MiB at most, "
              f"{[(r['result'], r['reason']) for r in results]}")
        self.assertLessEqual(daemon, 80 * MIB)
        self.assertTrue(readers)
        for pid in readers:
            self.assertLessEqual(status_bytes(pid, "VmHWM"), 96 * MIB)
        for result in results:
            self.assertIn(result["reason"], {"", "too_large", "reader_limit", "reader_timeout", "timeout"})
        self.assertTrue(witness.is_ready())

    def test_a_killed_reader_costs_nothing_and_an_idle_one_ends(self):
        # Any container of the node that comes near its limit has a reader started for its report, so there may be others.
        witness = self.daemon(CONFIG + "[capture]\nreader_idle_seconds = 2\n", args=["--json"])
        self.assertEqual(self.captured(witness, "first", "html")[1]()["reason"], "not_a_profile")
        for pid in children(witness.pid):
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.captured(witness, "second", "html")[1]()["reason"], "not_a_profile")
        used = set(children(witness.pid))
        eventually(lambda: not used or used - set(children(witness.pid)), "the idle reader has ended and is reaped")
        eventually(lambda: witness.scrape().sum("oomwitness_reader_jobs_total", kind="profile_check") >= 2,
                   "both answers were read")
        self.assertGreaterEqual(witness.scrape().sum("oomwitness_reader_starts_total"), 2)
