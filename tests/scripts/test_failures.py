# SPDX-License-Identifier: Apache-2.0
"""The class that the end-to-end harness gives a failure: what is missing is lost, however it was noticed; and kinds of skips."""
import contextlib
import io
import os
import signal
import subprocess
import tempfile
import unittest
from unittest import mock

from harness import case
from harness.daemon import Daemon, assert_no_fault
from harness.wait import Crashed, LostKill, NotInTime, lost_if_it_fails

import outcomes
import summary


class Counts(case.E2eTest):
    """A test whose kernel and whose daemon count what it says, without either."""

    kernel = counted_kills = 0

    def setUp(self):
        self.daemons, self.workloads, self.checked_kills = [mock.Mock(**{"process.poll.return_value": None})], [], 0
        self.daemons[0].log.return_value = ""

    def kernel_kills(self):
        return self.kernel

    def counted(self, _):
        return self.counted_kills

    def own(self, _):
        return [{"victims": [None] * self.counted_kills}]


class OfAFailure(unittest.TestCase):
    def failure(self, body, kernel, counted):
        made = type("Made", (Counts,), {"test_it": body, "kernel": kernel, "counted_kills": counted})("test_it")
        with mock.patch.object(case, "eventually", _at_once), contextlib.redirect_stderr(io.StringIO()):
            made.setUp()
            with self.assertRaises(AssertionError) as caught:
                made.test_it()
        return type(caught.exception)

    def test_passed_test_whose_kill_is_missing(self):
        self.assertIs(self.failure(lambda self: None, kernel=2, counted=1), LostKill)

    def test_passed_test_whose_kill_was_counted_twice(self):
        self.assertIs(self.failure(lambda self: None, kernel=1, counted=2), LostKill)

    def test_late_test_whose_kill_is_missing_is_not_late(self):
        self.assertIs(self.failure(_late, kernel=2, counted=1), LostKill)

    def test_late_test_that_lost_nothing_is_late(self):
        self.assertIs(self.failure(_late, kernel=1, counted=1), NotInTime)

    def test_wait_for_a_count_that_never_comes(self):
        self.assertIs(self.failure(lambda self: self.wait_counted(None, 1), kernel=0, counted=0), LostKill)

    def test_crash_is_not_taken_for_a_lost_kill(self):
        with self.assertRaises(Crashed), lost_if_it_fails():
            raise Crashed("SIGSEGV")


class OfADaemon(unittest.TestCase):
    def ended_by(self, signum):
        daemon = Daemon.__new__(Daemon)
        daemon.process = subprocess.Popen(["sleep", "60"])
        daemon.process.send_signal(signum)
        daemon.process.wait()
        daemon.log_file = tempfile.NamedTemporaryFile()
        self.addCleanup(daemon.log_file.close)
        return daemon

    def test_fault_is_a_crash_and_what_a_test_sends_is_none(self):
        with self.assertRaisesRegex(Crashed, "SIGSEGV"):
            self.ended_by(signal.SIGSEGV).assert_not_crashed()
        for signum in (signal.SIGKILL, signal.SIGTERM):
            self.ended_by(signum).assert_not_crashed()

    def test_exit_status_of_a_command(self):
        assert_no_fault(1, "")
        assert_no_fault(None, "")
        with self.assertRaises(Crashed):
            assert_no_fault(-signal.SIGABRT, "")


def _late(_):
    raise NotInTime("no content")


def _at_once(probe, what, *_):
    value = probe()
    if not value:
        raise NotInTime(what() if callable(what) else what)
    return value


class Skips(unittest.TestCase):
    SKIPS = [outcomes.Result("skip", "e2e: a", "cgroup v1 has no memory.high"), outcomes.Result("skip", "e2e: b", "cgroup v1 has no x"),
             outcomes.Result("skip", "unit: c", "no java and javac on this machine")]

    def test_reasons_are_of_few_kinds_and_what_no_kind_has_is_not_installed(self):
        kinds = summary.kinds_of_skips(self.SKIPS)
        self.assertEqual({kind: len(of) for kind, of in kinds.items()},
                         {"the memory controller is on cgroup v1": 2, "not installed": 1})
        with open(summary.KINDS, encoding="utf-8") as f:
            self.assertLessEqual(sum(not line.startswith("#") for line in f), 10)

    def test_a_test_of_the_gate_that_is_no_longer_installed_is_red_in_ci_and_nowhere_else(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="oomw-skips-"))
        os.makedirs(os.path.join(folder, "gate", "e2e"))
        with open(os.path.join(folder, "gate", "e2e", "plain.tsv"), "w", encoding="utf-8") as f:
            f.write("skip\tjava\tno java and javac on this machine\t\nskip\tswap\tno swap on this machine\t\n")
        with mock.patch.dict(os.environ, {"OOMW_CI": "1"}):
            self.assertEqual([lost.name for lost in summary.lost_tests(folder)], ["java"])
        with mock.patch.dict(os.environ):
            os.environ.pop("OOMW_CI", None)
            self.assertEqual(summary.lost_tests(folder), [])


if __name__ == "__main__":
    unittest.main()
