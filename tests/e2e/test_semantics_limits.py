# SPDX-License-Identifier: Apache-2.0
"""The limit's owner, the trigger, and the victim.

On other kernels: tests/vm/run.sh KERNEL tests/e2e/run.py -k semantics."""
import os
import signal

from harness.case import MIB
from harness.semantics import STOCK, Process, SemanticsTest
from harness.wait import eventually


class Limits(SemanticsTest):
    def test_own_limit_is_the_containers(self):
        box = self.cgroup("own", 24)
        work = self.kill_in(box, 200)
        incident = self.assert_decision("container", box, [work.identity])
        self.assertTrue(incident["trigger"]["same_cgroup"] in (True, None))
        self.assertGreater(incident["victims"][0]["rss"]["anon_bytes"], 0.8 * box.limit_bytes)

    def test_limit_of_a_group_of_cgroups_is_an_ancestors(self):
        """Of plain cgroups, whatever their names; a Kubernetes pod's own limit is in test_pod_limits.py."""
        pod = self.cgroup("pod", 32)
        leaking, calm = self.cgroup("leaking", 64, pod), self.cgroup("calm", 64, pod)
        holder = self.hog(calm, "--hold-mb", 8)
        work = self.kill_in(leaking, 200)
        self.assert_decision("ancestor", leaking, [work.identity], owner=pod)
        self.assertTrue(holder.is_alive())
        self.assertEqual(calm.kernel_kills(), 0)

    def test_victim_in_the_neighbour_of_the_trigger(self):
        """The group's limit again, but the largest of the group did not ask for the memory."""
        pod = self.cgroup("pod", 40)
        small, large = self.cgroup("small", parent=pod), self.cgroup("large", parent=pod)
        victim = self.hog(large, "--hold-mb", 22)
        trigger = self.hog(small, "--hold-mb", 4, "--rate-mb-s", 200, "--leak-mb", 15)
        self.go()
        victim.wait_killed()
        self.wait_outlived(trigger, 19)
        incident = self.assert_decision("ancestor", large, [victim.identity], pod, trigger.identity)
        self.assertIn(incident["trigger"]["same_cgroup"], (False, None))
        self.assertTrue(trigger.is_alive())

    def test_victim_beside_the_trigger(self):
        box = self.cgroup("shared", 32)
        victim = self.hog(box, "--hold-mb", 18, oom_score_adj=500)
        trigger = self.hog(box, "--hold-mb", 2, "--rate-mb-s", 200, "--leak-mb", 16)
        self.go()
        victim.wait_killed()
        self.wait_outlived(trigger, 18)
        incident = self.assert_decision("container", box, [victim.identity], trigger=trigger.identity)
        self.assertEqual(incident["victims"][0]["oom_score_adj"], 500)
        self.assertTrue(trigger.is_alive())

    def test_limit_above_two_levels(self):
        """Neither the container's nor its parent's, but the one above both."""
        slice_ = self.cgroup("slice", 24)
        pod = self.cgroup("pod", 48, slice_)
        box = self.cgroup("box", 48, pod)
        work = self.kill_in(box, 200)
        self.assert_decision("ancestor", box, [work.identity], owner=slice_)


class GroupKills(SemanticsTest):
    """memory.oom.group: one decision, all die."""

    def setUp(self):
        self.need_v2("memory.oom.group")
        super().setUp()

    def test_all_of_a_container(self):
        box = self.cgroup("group", 40)
        box.write("memory.oom.group", "1")
        works = [self.hog(box, "--hold-mb", 3) for _ in range(7)]
        works.append(self.hog(box, "--hold-mb", 4, "--rate-mb-s", 200))
        self.go()
        for work in works:
            work.wait_killed()
        self.assert_decision("container", box, [w.identity for w in works], trigger=works[-1].identity)
        self.assert_stays_counted(self.witness, 8)

    def test_all_of_a_pod(self):
        """The group is the pod's: its containers die together of a limit that only one of them hit."""
        pod = self.cgroup("pod", 40)
        pod.write("memory.oom.group", "1")
        boxes = [self.cgroup("leaking", parent=pod), self.cgroup("calm", parent=pod)]
        leaker = self.hog(boxes[0], "--hold-mb", 4, "--rate-mb-s", 200)
        holders = [self.hog(boxes[1], "--hold-mb", 10) for _ in range(3)]
        self.go()
        for work in [leaker, *holders]:
            work.wait_killed()
        incident = self.wait_victims(4)
        self.check_victims(incident, [w.identity for w in [leaker, *holders]])
        self.assertEqual(len(self.decision_of(incident).killed), 4)
        self.assertEqual((incident["scope"], incident["limit"]["owner_cgroup_path"]), ("ancestor", pod.path))
        self.check_series(incident, pod.limit_bytes + STOCK)
        self.check_counts(boxes[0], "ancestor")
        self.check_counts(boxes[1], "ancestor")
        self.assert_stays_counted(self.witness, 4)


class ChangedLimits(SemanticsTest):
    def kill_after(self, before_mb, after_mb):
        """The limit changes when its first value has been seen in a crossing of 50 %."""
        box = self.cgroup("changing", before_mb)
        work = self.hog(box, "--hold-mb", int(before_mb * 0.6), "--rate-mb-s", 100)
        limits = lambda: {e["limit_bytes"] for e in self.witness.events("watermark") if e["cgroup"] == box.inode}
        eventually(lambda: before_mb * MIB in limits(), lambda: f"a crossing below {before_mb} MB: {limits()}")
        box.set_limit(after_mb * MIB)
        self.go()
        work.wait_killed()
        self.assert_decision("container", box, [work.identity])

    def test_raised_limit_is_the_one_that_killed(self):
        self.kill_after(16, 32)

    def test_lowered_limit_is_the_one_that_killed(self):
        self.kill_after(36, 24)

    def test_limit_lowered_below_usage_kills_in_the_writer(self):
        """The kernel kills in the context of the writer of memory.max; the container asked for nothing."""
        self.need_v2("kill by the lowering of a limit: the write fails (EBUSY)")
        box = self.cgroup("lowered", 64)
        work = self.hog(box, "--hold-mb", 24)
        os.kill(work.pid, signal.SIGSTOP)  # or it might itself read back pages of its program, and be the trigger
        os.waitpid(work.pid, os.WUNTRACED)  # on one CPU it may run once more before it stops
        box.set_limit(12 * MIB)
        work.wait_killed()
        incident = self.assert_decision("container", box, [work.identity], trigger=Process(os.getpid()),
                                        most_usage=28 * MIB)
        self.assertIn(incident["trigger"]["same_cgroup"], (False, None))


class NoKill(SemanticsTest):
    config = "[sampler]\nslow_seconds = 1\n"

    def test_memory_high_throttles_and_nothing_is_reported(self):
        self.need_v2("memory.high")
        box = self.cgroup("high", 64)
        box.write("memory.high", str(16 * MIB))
        self.hog(box, "--hold-mb", 4, "--rate-mb-s", 0, "--leak-mb", 40)
        self.go()
        events = lambda: dict(line.split() for line in box.read("memory.events").splitlines())
        eventually(lambda: int(events()["high"]) > 3, lambda: f"throttled: {events()}")
        shown = lambda name: self.witness.scrape().sum(f"oomwitness_container_reclaim_{name}_total", k8s_container_name=box.name)
        eventually(lambda: shown("calls") > 0, lambda: f"reclaim of {box.name} is shown; memory.events {events()}")
        self.assertGreater(shown("stall_seconds"), 0)
        self.assertEqual((int(events()["oom"]), int(events()["oom_kill"])), (0, 0))
        self.assert_no_decision()
