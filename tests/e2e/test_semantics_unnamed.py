# SPDX-License-Identifier: Apache-2.0
"""Kills without BPF of which the kernel's log has too little, or nothing: the count shows that they happened.

The daemon reads a pipe in place of /dev/kmsg, so that a test decides what it is told.
"""
import os
import shutil
import signal
import tempfile
import threading

from harness.case import E2eTest
from harness.daemon import Daemon
from harness.kernel_log import KernelLog
from harness.semantics import SemanticsTest, config_of
from harness.wait import eventually

_WITH_LOG = 'mount --bind "$0" /dev/kmsg && exec "$@"'


class Unnamed(SemanticsTest):
    rung = "files"

    @classmethod
    def start_daemon(cls):
        """The class's own: its log is set for it alone."""
        folder = tempfile.mkdtemp(prefix="oomw-e2e-")
        cls.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
        log = os.path.join(folder, "kmsg")
        os.mkfifo(log)
        cls._log = os.open(log, os.O_RDWR)  # a pipe without a writer would be at its end
        cls.addClassCleanup(os.close, cls._log)
        cls._with_log = ["unshare", "-m", "sh", "-c", _WITH_LOG, log]
        cls._own = Daemon(os.path.join(folder, "data"), config_of(cls.rung), ["--json"], cls._with_log)
        cls.addClassCleanup(cls._own.close)

    def setUp(self):
        E2eTest.setUp(self)
        self.kernel_log = self.closing(KernelLog())
        if "_own" not in vars(type(self)):
            self.start_daemon()
        self.witness = self._own
        self.daemons.append(self.witness)
        self.rung_in_force = self.witness.rung_of("oom_kill")
        self.go_file = os.path.join(self.scratch, "go")

    def log_killed(self, pid, comm="memhog"):
        """The one line that is always logged; what names the cgroup is left out beyond ten kills in five seconds."""
        os.write(self._log, f"3,1,1,-;Memory cgroup out of memory: Killed process {pid} ({comm}) total-vm:40000kB, "
                            "anon-rss:20000kB, file-rss:1000kB, shmem-rss:0kB, UID:0 pgtables:80kB oom_score_adj:0\n"
                 .encode())

    def id_of_a_dead_thread(self):
        """As the log names a process whose leader is dead; no process was ever known by it."""
        ids = []
        thread = threading.Thread(target=lambda: ids.append(threading.get_native_id()))
        thread.start()
        thread.join()
        return ids[0]

    def wait_unnamed(self, box):
        """The incident that only the count of the cgroup led to."""
        incident = self.wait_incidents(self.witness, 1, box)[0]
        self.assertEqual((incident["victims"], incident["victim_count"]), ([], 1))
        self.assertEqual((incident["scope"], incident["verdict"]), (None, None))
        for field in ("victims", "scope", "time", "limit.owner_cgroup_path"):
            self.assertTrue(any(n.startswith(field + ":") for n in incident["notes"]), (field, incident["notes"]))
        return incident

    def assert_every_kill_seen(self):
        """Here also those without a name."""
        kernel = self.kernel_kills()
        eventually(lambda: self.counted(self.witness) >= kernel, lambda: f"{kernel} kills counted")
        self.assertEqual(self.counted(self.witness), kernel)
        self.assertEqual(sum(i["victim_count"] for i in self.incidents_of(self.witness)), kernel)

    def test_kill_that_the_log_does_not_tell_of_is_an_incident_of_its_cgroup(self):
        box = self.cgroup("untold", 24)
        self.kill_in(box)
        incident = self.wait_unnamed(box)
        self.assertEqual(incident["container"]["cgroup_id"], box.inode)
        self.check_owner(incident, box.limit_bytes, box.path)
        self.check_series(incident, box.limit_bytes + 4 * 1024 * 1024)
        self.assertIsNotNone(incident["usage_bytes"])
        self.check_counts(box, "unknown")
        self.assert_stays_counted(self.witness, 1)

    def test_kills_that_the_log_does_not_tell_of_are_an_incident_each(self):
        box = self.cgroup("again", 24)
        for _ in range(2):
            before = len(self.incidents_of(self.witness, box))
            self.kill_in(box)
            eventually(lambda: len(self.incidents_of(self.witness, box)) > before, "an incident")
        found = self.wait_incidents(self.witness, 2, box)
        self.assertEqual([i["victim_count"] for i in found], [1, 1])
        self.assertEqual(len({i["time"] for i in found}), 2)  # in no order: directories are named to the second

    def test_line_without_a_cgroup_belongs_where_the_count_rose(self):
        gone = self.id_of_a_dead_thread()
        box = self.cgroup("unplaced", 24)
        self.kill_in(box)
        self.log_killed(gone)
        incident = self.wait_incidents(self.witness, 1, box)[0]
        if any("which of them it was" in note for note in incident["notes"]):
            self.skipTest("another process of this machine was killed at the same moment: nobody can be named")
        self.assertEqual([(v["pid"], v["comm"]) for v in incident["victims"]], [(gone, "memhog")])
        self.assertEqual(incident["scope"], "container")
        self.check_owner(incident, box.limit_bytes, box.path)
        self.check_counts(box, "container")
        self.assert_stays_counted(self.witness, 1)

    def test_line_that_comes_late_gives_the_incident_its_victim(self):
        box = self.cgroup("late", 24)
        work = self.kill_in(box)
        first = self.wait_unnamed(box)
        self.log_killed(work.pid)
        named = lambda: self.wait_incidents(self.witness, 1, box)[0]["victims"]
        eventually(named, "a victim")
        incident = self.wait_incidents(self.witness, 1, box)[0]
        self.assertEqual(incident["id"], first["id"])
        self.assertEqual([(v["pid"], v["comm"]) for v in incident["victims"]], [(work.pid, "memhog")])
        self.assertEqual(incident["victim_count"], 1)
        self.check_counts(box, "unknown")
        self.assert_stays_counted(self.witness, 1)

    def test_name_that_only_a_later_run_finds_is_no_second_incident(self):
        box = self.cgroup("later", 24)
        first = self.daemon(config_of(self.rung), prefix=self._with_log)
        self.kill_in(box)
        self.assertEqual(self.wait_incidents(first, 1, box)[0]["victims"], [])
        self.wait_unnamed(box)
        first.stop(signal.SIGKILL)
        second = self.daemon(config_of(self.rung))  # the kernel's log names the victim
        self.wait_counted(second, 1)
        self.kill_in(box)
        self.wait_counted(second, 2)
        self.wait_incidents(second, 2, box)
        self.assert_stays_counted(second, 2)
        self.wait_incidents(second, 2, box)
        eventually(lambda: len(self.incidents_of(self.witness, box)) == 2, "an incident of the other daemon")
