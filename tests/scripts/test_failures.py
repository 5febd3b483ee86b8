# SPDX-License-Identifier: Apache-2.0
"""The class that the end-to-end harness gives a failure: what is missing is lost, however it was noticed."""
import contextlib
import io
import signal
import subprocess
import tempfile
import unittest
from unittest import mock

from harness import case
from harness.daemon import Daemon, assert_no_fault
from harness.wait import Crashed, LostKill, NotInTime, lost_if_it_fails


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


if __name__ == "__main__":
    unittest.main()
