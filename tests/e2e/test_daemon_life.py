# SPDX-License-Identifier: Apache-2.0
"""Restarts, and a data directory that is full, refused or broken."""
import contextlib
import glob
import os
import signal
import subprocess

from harness.case import E2eTest
from harness.wait import eventually

HOG = ("--rate-mb-s", "200")
# Every cgroup is read often, so that what is wrong with the accounting shows at once.
READ_OFTEN = "[sampler]\nslow_seconds = 0.2\n"


class Restart(E2eTest):
    long = True

    def kill_in(self, box):
        self.memhog(box, *HOG).wait_killed()

    def test_kill_before_the_first_start_is_not_ours_to_count(self):
        box = self.cgroup("before", 32)
        self.kill_in(box)
        witness = self.daemon(READ_OFTEN)
        self.assert_stays_counted(witness, 0)
        self.kill_in(box)
        self.wait_counted(witness, 1)
        self.assert_stays_counted(witness, 1)
        self.wait_incidents(witness, 1)
        self.kills_before = 1

    def test_daemon_restarted_between_two_kills_counts_on(self):
        box = self.cgroup("again", 32)
        first = self.daemon(READ_OFTEN)
        self.kill_in(box)
        self.wait_counted(first, 1)
        self.assertEqual(first.stop(), 0)
        second = self.daemon(READ_OFTEN)
        self.assertEqual(self.counted(second), 1)
        self.kill_in(box)
        self.wait_counted(second, 2)
        self.wait_incidents(second, 2)
        self.assert_stays_counted(second, 2)

    def test_daemon_killed_hard_between_two_kills_counts_on(self):
        box = self.cgroup("hard", 32)
        first = self.daemon(READ_OFTEN)
        self.kill_in(box)
        self.wait_counted(first, 1)
        self.wait_incidents(first, 1)
        first.stop(signal.SIGKILL)
        second = self.daemon(READ_OFTEN)
        self.wait_counted(second, 1)
        self.kill_in(box)
        self.wait_counted(second, 2)
        self.wait_incidents(second, 2)
        self.assert_stays_counted(second, 2)


class KillWhileDown(E2eTest):
    loses_incidents = True  # no daemon ran: it is counted, not witnessed

    def test_kill_while_the_daemon_was_down_is_counted_once(self):
        box = self.cgroup("unseen", 32)
        first = self.daemon(READ_OFTEN)
        self.memhog(box, *HOG).wait_killed()
        self.wait_counted(first, 1)
        self.assertEqual(first.stop(), 0)
        self.memhog(box, *HOG).wait_killed()
        second = self.daemon(READ_OFTEN)
        self.wait_counted(second, 2)
        self.assertEqual(second.stop(), 0)
        third = self.daemon(READ_OFTEN)
        self.wait_counted(third, 2)


class Stop(E2eTest):
    def full_pipe(self):
        """Its writing end, as a path; there is no reader."""
        ends = os.pipe()
        for end in ends:
            self._stack.callback(os.close, end)
        os.set_blocking(ends[1], False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(ends[1], b"x" * 65536)
        return f"/proc/{os.getpid()}/fd/{ends[1]}"

    def test_reader_that_stopped_reading_holds_up_no_end(self):
        box, pipe = self.cgroup("unread", 32), self.full_pipe()
        witness = self.daemon(args=["--json"], prefix=("/bin/sh", "-c", f'exec "$@" > {pipe}', "sh"))
        self.memhog(box, *HOG).wait_killed()
        self.wait_incidents(witness, 1)
        self.assert_every_kill_seen()
        self.assertEqual(witness.stop(), 0)


class FullRing(E2eTest):
    alone = True

    def test_what_lies_in_the_ring_at_the_end_is_written(self):
        """More than the daemon takes out of it at once, and the kill last."""
        box, witness = self.cgroup("last", 32), self.daemon(READ_OFTEN)
        os.kill(witness.pid, signal.SIGSTOP)
        try:
            crowd = "i=0; while [ $i -lt 1500 ]; do /bin/true; i=$((i+1)); done"
            subprocess.run(["/bin/sh", "-c", crowd], check=True)
            self.memhog(box, *HOG).wait_killed()
            witness.process.send_signal(signal.SIGTERM)
        finally:
            os.kill(witness.pid, signal.SIGCONT)
        self.assertEqual(witness.stop(), 0)
        incident, = self.incidents_of(witness)
        self.assertEqual(len(incident["victims"]), 1)
        self.assertNotIn("seen afterwards", "\n".join(incident["notes"]))
        self.wait_counted(self.daemon(READ_OFTEN), 1)


class TroubledDisk(E2eTest):
    def tmpfs(self, options):
        where = os.path.join(self.scratch, "disk")
        os.makedirs(where)
        subprocess.run(["mount", "-t", "tmpfs", "-o", options, "oomw-e2e", where], check=True)
        self._stack.callback(subprocess.run, ["umount", "-l", where], check=True)
        return where

    def leak_under_trouble(self, witness):
        self.leaky_go(self.cgroup("troubled", 64), "-rate", "50").wait_killed()
        self.wait_counted(witness, 1)
        eventually(lambda: witness.scrape().sum("oomwitness_data_dir_writable") == 0, "the trouble shows in /metrics")
        self.assertRegex(witness.log(), "evidence (cannot be written|stays in memory)")

    def assert_recovers(self, witness):
        incident = self.wait_incidents(witness, 1)[0]
        eventually(lambda: witness.scrape().sum("oomwitness_data_dir_writable") == 1, "recovery shows in /metrics")
        ledger = os.path.join(witness.data_dir, "kills.json")
        eventually(lambda: os.path.exists(ledger) and os.path.getsize(ledger), "the counters reach the disk, too")
        good = [c for c in incident["captures"] if c["result"] == "ok"]
        self.assertTrue(good, "the newest evidence was to be kept in memory")
        self.assertTrue(all(os.path.getsize(os.path.join(incident["_dir"], c["file"])) for c in good))

    def test_data_dir_full_keeps_counting_and_recovers(self):
        where = self.tmpfs("size=1m")
        witness = self.daemon(data_dir=where)
        filler = os.path.join(where, "filler")
        with open(filler, "wb", buffering=0) as f:
            try:
                while True:
                    f.write(b"x" * 4096)
            except OSError:
                pass
        self.leak_under_trouble(witness)
        self.assertEqual(self.incidents_of(witness), [])
        os.unlink(filler)
        self.assert_recovers(witness)

    def test_data_dir_read_only_keeps_counting_and_recovers(self):
        where = self.tmpfs("size=8m,ro")
        witness = self.daemon(data_dir=where)
        self.leak_under_trouble(witness)
        subprocess.run(["mount", "-o", "remount,rw", where], check=True)
        self.assert_recovers(witness)


class NoDataDir(E2eTest):
    loses_incidents = True

    def test_data_dir_that_cannot_be_one_is_said_and_kills_count(self):
        not_a_directory = os.path.join(self.scratch, "file")
        open(not_a_directory, "w").close()
        witness = self.daemon(data_dir=not_a_directory + "/below")
        self.assertIn(not_a_directory, witness.log())
        self.memhog(self.cgroup("counted", 32), *HOG).wait_killed()
        self.wait_counted(witness, 1)
        eventually(lambda: witness.scrape().sum("oomwitness_data_dir_writable") == 0, "the trouble shows in /metrics")


class BrokenLedger(E2eTest):
    def test_broken_kill_ledger_is_set_aside(self):
        os.makedirs(self.data_dir())
        with open(os.path.join(self.data_dir(), "kills.json"), "w") as f:
            f.write('{"kills": [')
        witness = self.daemon()
        self.memhog(self.cgroup("after", 32), *HOG).wait_killed()
        self.wait_counted(witness, 1)
        self.assertTrue(glob.glob(os.path.join(self.data_dir(), "kills.json.broken-*")))
        self.assertIn("kills.json", witness.log())
