# SPDX-License-Identifier: Apache-2.0
"""Which process it was: threads, children, pid namespaces, and cgroups that do not outlive their processes."""
import os
import re
from unittest import mock

from harness import cgroup as cgroups
from harness import fileio, tools
from harness.semantics import STOCK, Process, SemanticsTest
from harness.wait import eventually


class Threads(SemanticsTest):
    def thread_of(self, work):
        work.wait_output("leaking in thread")
        return int(re.search(r"leaking in thread (\d+)", work.text())[1])

    def kill(self, *flags):
        box = self.cgroup("threads", 24)
        work = self.start([tools.threadhog(), "--rate-mb-s", "50", *flags], box)
        tid = self.thread_of(work)
        identity = Process(work.pid)
        self.kernel_log.process_of[tid] = work.pid
        work.wait_killed()
        self.assertNotEqual(tid, work.pid)
        logged = eventually(lambda: self.kernel_log.decisions("/" + self.prefix, [work.pid]), "the kernel's log has it")
        if self.rung_in_force == "files" and logged[0].victim_path is None:
            self.skipTest("the kernel logged no more than a thread's number (10 kills in 5 s on this machine)")
        return self.assert_decision("container", box, [identity], trigger_tid=tid)

    def test_thread_allocates_and_the_process_is_the_victim(self):
        self.kill()

    def test_dead_leader_is_the_name_of_a_process_that_lives(self):
        """The kernel picks a thread that still has memory; the process is known by its leader all the same."""
        incident = self.kill("--leader-exits", "1")
        anon = incident["victims"][0]["rss"]["anon_bytes"]
        self.assertGreater(anon, 0.7 * incident["limit"]["bytes"], "of the thread: the leader has none left")


class Children(SemanticsTest):
    # Goes on once its child is dead, as a supervisor does, and waits for a file that nobody writes: one that starts a
    # program in the full cgroup may be the kernel's next victim, if the child's memory is read as it dies (docs/limits.md).
    SUPERVISOR = '"$@" & wait $!; echo over; read -r never <"$NEVER"'

    def setUp(self):
        super().setUp()
        never = os.path.join(self.scratch, "never")
        os.mkfifo(never)
        self.enterContext(mock.patch.dict(os.environ, NEVER=never))

    def test_child_is_killed_and_its_parent_lives(self):
        box = self.cgroup("child", 24)
        parent = self.start(["/bin/sh", "-c", self.SUPERVISOR, "sh", tools.memhog(), "--hold-mb", "2", "--rate-mb-s",
                             "100", "--wait-file", self.go_file], box)
        child = self.processes_in(box, "memhog")[0]
        self.go()
        parent.wait_output("over")
        self.assertNotEqual(child.pid, parent.pid)
        self.assert_decision("container", box, [child])
        self.assertTrue(parent.is_alive())

    def test_victim_in_another_pid_namespace_has_the_hosts_pid(self):
        box = self.cgroup("namespace", 24)
        parent = self.start(["/usr/bin/unshare", "-p", "-f", "--kill-child", "/bin/sh", "-c", 'echo "init is $$";' +
                             self.SUPERVISOR, "sh", tools.memhog(), "--hold-mb", "2", "--rate-mb-s", "100",
                             "--wait-file", self.go_file], box)
        parent.wait_output("init is 1")
        child = self.processes_in(box, "memhog")[0]
        self.go()
        parent.wait_output("over")
        self.assert_decision("container", box, [child])

    def test_init_of_a_pid_namespace_is_one_victim(self):
        """With it the kernel kills all of its namespace, which is not the OOM killer's choice."""
        box = self.cgroup("init", 32)
        script = '"$0" --hold-mb 2 & exec "$0" --hold-mb 8 --rate-mb-s 100 --wait-file "$1"'
        self.start(["/usr/bin/unshare", "-p", "-f", "/bin/sh", "-c", script, tools.memhog(), self.go_file], box)
        processes = self.processes_in(box, "memhog", 2)
        init = next(p for p in processes if self.is_init(p.pid))
        self.go()
        eventually(lambda: not os.path.exists(f"/proc/{init.pid}"), "the init is dead")
        self.assert_decision("container", box, [init])
        self.assertEqual(box.kernel_kills(), 1)

    def is_init(self, pid):
        return re.search(r"^NSpid:.*\t1$", fileio.read(f"/proc/{pid}/status"), re.M) is not None


class Vanishing(SemanticsTest):
    def test_cgroup_removed_right_after_the_kill(self):
        """As container runtimes do: within milliseconds of the kill nothing can be read of it any more."""
        boxes = [self.cgroup(f"gone{i}", 16) for i in range(3)]
        works = []
        for box in boxes:
            works.append(self.kill_in(box))
            box.close()
        for box, work in zip(boxes, works):
            self.assert_decision("container", box, [work.identity])

    def test_next_container_of_that_name_is_another(self):
        """A restart: the same path, another cgroup. Neither shows what belongs to the other."""
        first = self.cgroup("restarted", 16)
        one = self.kill_in(first)
        first.close()
        self.wait_incidents(self.witness, 1)
        second = self.cgroup("restarted", 24)
        self.assertNotEqual(second.inode, first.inode)
        two = self.kill_in(second)
        found = sorted(self.wait_incidents(self.witness, 2), key=lambda i: i["time"])
        for incident, box, work in zip(found, (first, second), (one, two)):
            self.assertEqual(incident["container"]["cgroup_id"], box.inode)
            self.check_owner(incident, box.limit_bytes, box.path)
            self.check_victims(incident, [work.identity])
            self.check_series(incident, box.limit_bytes + STOCK)
        self.assertGreater(found[1]["series"][0]["t"], found[0]["time"], "usage from the life before")
        shown = lambda: [(l["scope"], v) for l, v in self.witness.scrape().values("oomwitness_oom_kills_total",
                                                                                  k8s_container_name=second.name)]
        eventually(lambda: shown() == [("container", 2)], lambda: f"one kill each: {shown()}", 10)


class CgroupIds(SemanticsTest):
    def test_ids_of_cgroups_do_not_come_again(self):
        """Each is greater than all before it, so that none can be made to come again here; what the model does with
        one that did is asked in tests/unit/model."""
        ids = []
        for _ in range(500):
            with cgroups.MemoryCgroup(self.prefix + "short") as box:
                ids.append(box.inode)
        self.assertEqual(ids, sorted(set(ids)))
