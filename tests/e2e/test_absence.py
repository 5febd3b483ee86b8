# SPDX-License-Identifier: Apache-2.0
"""Kills while no daemon runs, and the data directory going from one daemon to the next."""
import os
import signal
import time

from harness import fileio
from harness.case import E2eTest
from harness.daemon import run_cli
from harness.kernel_log import KernelLog
from harness.wait import eventually
from test_daemon_life import HOG, READ_OFTEN


class AbsenceTest(E2eTest):
    alone = True

    def setUp(self):
        super().setUp()
        try:
            self.kernel_log = self.closing(KernelLog())
        except OSError as e:
            self.skipTest(f"/dev/kmsg: {e}")

    def kill_in(self, box):
        """The victim's pid."""
        hog = self.memhog(box, *HOG)
        hog.wait_killed()
        return hog.pid

    def ran_before(self, config=READ_OFTEN):
        """A daemon has run on this data directory and ended."""
        self.assertEqual(self.daemon(config).stop(), 0)

    def need_places(self, pids):
        """Others' kills may have used up what the kernel logs in 5 s."""
        named = {pid for d in self.kernel_log.decisions("/" + self.prefix) for pid in d.killed}
        if not set(pids) <= named:
            self.skipTest("the kernel log is rate-limited just now, and does not name these kills' cgroups")

    def assert_afterwards(self, incident, pid, path):
        self.assertEqual([v["pid"] for v in incident["victims"]], [pid])
        self.assertEqual(incident["victims"][0]["comm"], "memhog")
        self.assertGreater(incident["victims"][0]["rss"]["anon_bytes"], 0)
        self.assertEqual(incident["container"]["cgroup_path"], path)
        self.assertEqual(incident["scope"], "container")
        self.assertEqual(incident["captures"], [])
        notes = "\n".join(incident["notes"])
        self.assertRegex(notes, r"time: .*seen afterwards, because no daemon is known to have watched from \S+Z to \S+Z")
        self.assertRegex(notes, "captures: none: no daemon")


class SeenAfterwards(AbsenceTest):
    def test_kills_in_living_removed_and_renewed_cgroups_have_one_incident_each(self):
        living, gone = self.cgroup("living", 32), self.cgroup("gone", 32)
        renewed = self.cgroup("renewed", 32)
        self.ran_before()
        pids = [self.kill_in(living), self.kill_in(gone), self.kill_in(renewed)]
        gone.close()
        renewed.close()
        again = self.cgroup("renewed", 32)
        self.need_places(pids)
        for _ in range(2):  # none twice
            witness = self.daemon(READ_OFTEN)
            self.wait_counted(witness, 3)
            incidents = {i["victims"][0]["pid"]: i for i in self.wait_incidents(witness, 3)}
            for pid, box in zip(pids, (living, gone, again)):
                self.assert_afterwards(incidents[pid], pid, box.path)
            self.assert_stays_counted(witness, 3)
            self.assertEqual(witness.stop(), 0)
        witness = self.daemon(READ_OFTEN)
        self.kill_in(again)
        self.wait_counted(witness, 4)
        self.wait_incidents(witness, 4)

    def test_it_is_counted_as_seen_afterwards_and_in_no_other_way(self):
        box = self.cgroup("once", 32)
        self.ran_before()
        pid = self.kill_in(box)
        self.need_places([pid])
        witness = self.daemon(READ_OFTEN)
        self.wait_counted(witness, 1)
        self.assertGreaterEqual(witness.scrape().sum("oomwitness_kills_seen_afterwards_total"), 1)
        self.wait_incidents(witness, 1)

    def test_daemon_killed_hard_in_a_storm_neither_misses_nor_repeats(self):
        boxes = [self.cgroup(f"storm{i}", 32) for i in range(8)]
        first = self.daemon(READ_OFTEN)
        hogs = [self.memhog(box, *HOG) for box in boxes]
        hogs[0].wait_killed()
        first.stop(signal.SIGKILL)
        for hog in hogs[1:]:
            hog.wait_killed()
        for _ in range(2):
            witness = self.daemon(READ_OFTEN)
            self.wait_counted(witness, 8)
            self.wait_incidents(witness, 8)
            self.assert_stays_counted(witness, 8)
            witness.stop(signal.SIGKILL)
        self.daemon(READ_OFTEN)

    def test_kills_that_were_written_and_not_counted_are_not_written_again_where_the_log_names_no_place(self):
        boxes = [self.cgroup(f"many{i}", 32) for i in range(14)]  # the kernel says of ten in 5 s where they were
        first = self.daemon(READ_OFTEN)
        ledger = os.path.join(first.data_dir, "kills.json")
        eventually(lambda: os.path.exists(ledger), "the ledger")
        before = fileio.read(ledger)
        hogs = [self.memhog(box, *HOG) for box in boxes]
        for hog in hogs:
            hog.wait_killed()
        self.wait_incidents(first, len(boxes))
        first.stop(signal.SIGKILL)
        fileio.write(ledger, before)
        placed = {pid for d in self.kernel_log.decisions("/" + self.prefix) for pid in d.killed}
        if {hog.pid for hog in hogs} <= placed:
            self.skipTest("the kernel log was not rate-limited")
        second = self.daemon(READ_OFTEN)
        self.wait_counted(second, len(boxes))
        self.wait_incidents(second, len(boxes))
        self.assert_stays_counted(second, len(boxes))
        self.wait_incidents(second, len(boxes))

    def test_daemon_killed_for_its_own_limit_is_an_incident_after_its_restart(self):
        home = self.cgroup("home", 256)
        join = ("/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', home.procs_file())
        first = self.daemon(READ_OFTEN, prefix=join)
        fileio.write(f"/proc/{first.pid}/oom_score_adj", "1000")  # of the two, the daemon
        # The daemon does not fit beside it; without the daemon it does.
        hog = self.memhog(home, "--hold-mb", "252")
        eventually(lambda: first.process.poll() is not None, "the daemon is killed at its own limit")
        hog.process.kill()
        hog.process.wait()
        self.need_places([first.pid])
        second = self.daemon(READ_OFTEN, prefix=join)
        kills = home.kernel_kills()  # 2 where the kernel was at it again before the first one's memory was free
        self.wait_counted(second, kills)
        own, = [i for i in self.wait_incidents(second, kills) if i["victims"][0]["pid"] == first.pid]
        self.assertEqual(own["victims"][0]["comm"], "oomwitness")
        self.assertEqual(own["container"]["cgroup_path"], home.path)


class OnlyCounted(AbsenceTest):
    loses_incidents = True  # there is one, without a victim in it

    def test_count_that_no_log_line_explains_is_an_incident_without_a_victim(self):
        """As where the kernel log cannot be read: of a cgroup that lives, the count is known."""
        box = self.cgroup("silent", 32)
        self.ran_before()
        self.kill_in(box)
        hidden = ("unshare", "-m", "/bin/sh", "-c", 'mount --bind /dev/null /dev/kmsg && exec "$@"', "sh")
        for _ in range(2):
            witness = self.daemon(READ_OFTEN, prefix=hidden)
            self.wait_counted(witness, 1)
            incident, = self.wait_incidents(witness, 1)
            self.assertEqual((incident["victims"], incident["victim_count"]), ([], 1))
            self.assertRegex("\n".join(incident["notes"]), "seen afterwards")
            self.assert_stays_counted(witness, 1)
            self.assertEqual(witness.stop(), 0)
        self.wait_counted(self.daemon(READ_OFTEN, prefix=hidden), 1)


class Handover(AbsenceTest):
    def test_second_daemon_is_an_error_that_names_the_first(self):
        first = self.daemon()
        done = run_cli("run", "--data-dir", first.data_dir, "--metrics-listen", "127.0.0.1:0", status=1)
        self.assertRegex(done.stderr, rf"pid {first.pid}\b.*{first.data_dir}.*--standby")
        self.assertEqual(first.stop(), 0)
        self.daemon()  # the lock went with the process

    def stream(self, count):
        """Kills one after the other, a few at a time, until all are done."""
        boxes = [self.cgroup(f"stream{i}", 32) for i in range(count)]
        for box in boxes:
            yield self.memhog(box, *HOG)

    def hand_over(self, signum, count=20):
        first = self.daemon(READ_OFTEN)
        hogs, second = [], None
        for i, hog in enumerate(self.stream(count)):
            hogs.append(hog)
            if i == count // 3:
                second = self.daemon(READ_OFTEN, args=["--standby"])
                self.assertEqual(second.scrape().sum("oomwitness_standing_by"), 1)
                self.assertEqual(second.scrape().values("oomwitness_oom_kills_total"), [])
            if i == 2 * count // 3:
                first.process.send_signal(signum)
            time.sleep(0.05)
        for hog in hogs:
            hog.wait_killed()
        first.stop(signum)
        self.wait_counted(second, count)
        incidents = self.wait_incidents(second, count)
        self.assertEqual(sorted(v["pid"] for i in incidents for v in i["victims"]), sorted(hog.pid for hog in hogs))
        self.assert_stays_counted(second, count)
        self.assertEqual(second.scrape().sum("oomwitness_standing_by"), 0)
        self.assertEqual(fileio.read(os.path.join(second.data_dir, "lock")).strip(), str(second.pid))
        self.assertEqual(second.stop(), 0)
        third = self.daemon(READ_OFTEN)
        self.wait_counted(third, count)
        self.wait_incidents(third, count)

    def test_each_kill_is_counted_and_written_once_when_the_first_is_stopped(self):
        self.hand_over(signal.SIGTERM)

    def test_each_kill_is_counted_and_written_once_when_the_first_is_killed(self):
        self.hand_over(signal.SIGKILL)

    def test_daemon_that_stands_by_writes_nothing(self):
        first = self.daemon()
        ledger = os.path.join(first.data_dir, "kills.json")
        eventually(lambda: os.path.exists(ledger), "the first daemon's ledger")
        before = set(os.listdir(first.data_dir))
        second = self.daemon(args=["--standby"])
        self.kill_in(self.cgroup("watched", 32))
        self.wait_incidents(first, 1)
        self.assertEqual(second.stop(), 0)
        # The first may be writing its ledger just now.
        made = {name for name in os.listdir(first.data_dir) if f".tmp-{first.pid}-" not in name}
        self.assertEqual(made - before, {"incidents"} - before)
        self.assertEqual(self.counted(first), 1)
        self.assertEqual(first.process.poll(), None)
        self.daemons.remove(second)
