# SPDX-License-Identifier: Apache-2.0
"""Heaps read in the victim on cgroup v2, where one kill may have several victims. On other
kernels: tests/vm/run.sh KERNEL tests/e2e/run.py -k V2Heap."""
import os

from harness import cgroup, pprof, tools
from harness.daemon import running_daemon
from harness.go_heap import HELD_SHARE, LEAK, GoHeapTest, at_kill
from harness.kernel_log import KernelLog
from harness.wait import eventually


class V2Heap(GoHeapTest):
    def setUp(self):
        if cgroup.VERSION != 2:
            self.skipTest("the memory controller of this machine is on cgroup v1 (tests/vm/run.sh has v2 kernels)")
        super().setUp()
        self.witness = running_daemon()
        self.daemons.append(self.witness)
        if self.witness.rung_of("heap_at_kill") == "none":  # no bpf_loop below 5.17; features.md has the reason
            self.skipTest("heap_at_kill is not served on this kernel")
        self.program = tools.go_program("1.26", "strip")
        self.group_pids = set()
        self.kernel_log = self.closing(KernelLog())

    def kernel_kills(self):
        """Processes, not kills: the kernel counts the chosen one of a group twice, and one whose leader dies meanwhile
        again with a thread of it, whose id it logs then."""
        again = [d.counted_again + len(set(d.killed) - self.group_pids if self.group_pids else ())
                 for d in self.kernel_log.decisions("/" + self.prefix)]
        return super().kernel_kills() - sum(again)

    def walked(self, box, count):
        """(the one incident, its captures at the kill) once there is one for each of `count` victims."""
        def all_there():
            found = [i for i in self.incidents_of(self.witness, box) if len(at_kill(i)) >= count]
            return found or None

        have = lambda: [(c["pid"], c["method"], c["result"], c["reason"])
                        for i in self.incidents_of(self.witness, box) for c in i["captures"]]
        eventually(all_there, lambda: f"{count} captures at the kill; have {have()}")
        incident = self.wait_incidents(self.witness, 1, box)[0]
        self.assertEqual(len(at_kill(incident)), count)
        return incident, at_kill(incident)

    def print_seen(self, incident):
        walks = [(c["buckets"], c["inuse_bytes"] >> 20, c["reason"] or "complete") for c in at_kill(incident)]
        print(f"      {os.uname().release}: coverage {incident['coverage']['ratio']}, "
              f"walks (buckets, MiB, end) {walks}", flush=True)

    def test_kill_is_walked_whole(self):
        incident, _ = self.assert_complete(self.witness, self.kill_leaker("alone", program=self.program))
        self.print_seen(incident)
        self.assertEqual(incident["coverage"]["method"], "at_kill")
        self.assertGreaterEqual(incident["coverage"]["ratio"], HELD_SHARE)

    def test_group_kill_walks_every_victim(self):
        box = self.cgroup("group", 192)
        box.write("memory.oom.group", "1")
        works = [self.leaker(box, "-prefill-mb", 24, program=self.program, rate=8) for _ in range(3)]
        self.group_pids = {w.pid for w in works}
        for work in works:
            work.wait_killed()
        incident, walks = self.walked(box, 3)
        self.print_seen(incident)
        pids = sorted(w.pid for w in works)
        self.assertEqual(sorted(v["pid"] for v in incident["victims"]), pids)
        self.assertEqual(sorted(c["pid"] for c in walks), pids)
        for walk in walks:
            anon = next(v for v in incident["victims"] if v["pid"] == walk["pid"])["rss"]["anon_bytes"]
            self.assertEqual((walk["result"], walk["complete"]), ("ok", True), walk)
            self.assertGreaterEqual(walk["inuse_bytes"], 0.75 * anon, walk)  # 3 to 4 MB of some 60 are the runtime's

    def test_victim_that_did_not_trigger_is_walked(self):
        box = self.cgroup("shared", 128)
        victim = self.leaker(box, "-limit-mb", 64, program=self.program, oom_score_adj=1000)
        victim.wait_output("limit reached")
        trigger = self.memhog(box, "--rate-mb-s", "100", "--leak-mb", "90")
        victim.wait_killed()
        self.wait_outlived(trigger, 90)
        incident, walks = self.walked(box, 1)
        self.print_seen(incident)
        self.assertEqual([v["pid"] for v in incident["victims"]], [victim.pid])
        self.assertEqual(incident["trigger"]["pid"], trigger.pid)
        self.assertTrue(trigger.is_alive())
        self.assertEqual((walks[0]["pid"], walks[0]["complete"]), (victim.pid, True), walks)
        self.assertGreaterEqual(walks[0]["inuse_bytes"], HELD_SHARE * incident["victims"][0]["rss"]["anon_bytes"])
        profile = pprof.read(self.profile_of(incident, walks[0]))
        self.assertGreater(profile.cumulative().get(LEAK, 0), 0.9 * profile.total(), profile.cumulative())
