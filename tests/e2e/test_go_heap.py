# SPDX-License-Identifier: Apache-2.0
"""Heaps read in the victim: cases that break a reader that knows symbols, one victim and small lists."""
import os
import signal
import subprocess
import time

from harness import tools
from harness.case import MIB
from harness.daemon import CAPTURE_AT_80, run_cli
from harness.go_heap import HELD_SHARE, LEAK, GoHeapTest
from harness.process_state import status_bytes
from harness.wait import eventually

# More than twice what the daemon's tables hold. Four loops need 8 s for them without a tracer.
PASSERS_BY = 10000


class Builds(GoHeapTest):
    """Stripped and position-independent programs have no symbols, externally linked ones start with C's code."""

    long = True
    JOBS = "oomwitness_reader_jobs_total"
    VARIANTS = [("1.19", "strip"), ("1.19", "pie-strip"), ("1.19", "ext"), ("1.26", "strip"), ("1.26", "pie-strip"),
                ("1.27", "strip"), ("1.27", "pie-strip")]

    def check_build(self, version, variant):
        program = tools.go_program(version, variant)
        witness = self.daemon()
        incident, capture = self.assert_complete(witness, self.kill_leaker("build", program=program))
        self.assertEqual(incident["coverage"]["method"], "at_kill")
        self.assertGreaterEqual(incident["coverage"]["ratio"], HELD_SHARE)
        self.assertEqual(tools.pprof_top(self.profile_of(incident, capture))[0][1], LEAK)
        jobs = {labels["result"]: value for labels, value in witness.scrape().values(self.JOBS, kind="walk")}
        self.assertGreaterEqual(jobs["done"], 1, "decoded by the reader")  # others on the node may be killed too
        inspected = {labels["result"]: value for labels, value in witness.scrape().values(self.JOBS, kind="inspection")}
        self.assertGreaterEqual(inspected["done"], 1, "its executable was inspected in a reader")


def _add_builds():
    for version, variant in Builds.VARIANTS:
        def test(self, version=version, variant=variant):
            self.check_build(version, variant)

        name = f"test_{variant}_by_go_{version}_is_complete".replace(".", "_").replace("-", "_")
        setattr(Builds, name, Builds.checked(test))


_add_builds()


class Crowds(GoHeapTest):
    """Victims within a tenth of a second of each other, each in a container of its own."""

    alone = True

    LIMIT_MB = 48

    def kill_crowd(self, count):
        witness = self.daemon()
        boxes = [self.cgroup(f"crowd{n}", self.LIMIT_MB) for n in range(count)]
        works = [self.leaker(box, rate=20) for box in boxes]
        self.stop_each_when_half_full(works)
        time.sleep(0.2)  # what they owe by the clock meanwhile they leak at once when they go on
        for work in works:
            os.kill(work.pid, signal.SIGCONT)
        for work in works:
            work.wait_killed()
        for box in boxes:
            self.assert_complete(witness, box, held_share=0.75)  # 2 to 4 MB of 48 are the runtime's own

    def stop_each_when_half_full(self, works):
        running = list(works)
        while running:
            for work in [w for w in running if w.cgroup.usage() > 0.5 * w.cgroup.limit_bytes]:
                os.kill(work.pid, signal.SIGSTOP)
                running.remove(work)
            self.assertTrue(all(w.is_alive() for w in running))
            time.sleep(0.005)

    def test_four_victims_at_once_are_complete(self):
        self.kill_crowd(4)

    def test_eight_victims_at_once_are_complete(self):
        self.kill_crowd(8)

    def test_sixteen_victims_at_once_are_complete(self):
        self.kill_crowd(16)


class Lists(GoHeapTest):
    def test_more_than_60000_buckets_and_the_kill_after_it(self):
        # As long as it takes: how many buckets are read in the usual 0.1 s is a benchmark's matter.
        witness = self.daemon("[capture.at_kill]\nmax_seconds = 5\n")
        box = self.cgroup("many", 256)
        self.start([tools.go_program("1.19", "strip"), "-listen", "", "-rate", "100", "-profile-rate", "1",
                    "-stacks", "70000"], box).wait_killed()
        _, capture = self.at_kill_of(witness, box)
        self.assertEqual(capture["result"], "ok", capture)
        self.assertTrue(capture["complete"] or capture["reason"], capture)
        if capture["complete"]:
            self.assertGreater(capture["buckets"], 60000)
        print(f"      {capture['buckets']} buckets, {capture['reason'] or 'complete'}", flush=True)
        self.assertGreater(capture["buckets"], 20000, capture)
        self.assert_complete(witness, self.kill_leaker("after"))

    def test_profile_of_60000_living_stacks_is_not_made_in_the_daemon(self):
        # Made there it took 32 MiB; the reading that it checks takes a third of that.
        witness = self.daemon(CAPTURE_AT_80, args=["--json"])
        before = status_bytes(witness.pid, "VmHWM")
        box = self.cgroup("many", 216)
        work = self.start([tools.go_program("1.19", "strip"), "-listen", "", "-rate", "20", "-prefill-mb", "100",
                           "-limit-mb", "150", "-profile-rate", "1", "-stacks", "60000"], box)

        def taken():
            return [e for e in witness.events("capture")
                    if e["cgroup"] == box.inode and e["method"] == "live" and e["result"] == "ok"]
        capture = eventually(taken, lambda: f"a living heap; {work.describe()}", 60)[0]
        self.assertGreater(capture["sample_count"], 60000)
        grown = status_bytes(witness.pid, "VmHWM") - before
        print(f"      {capture['sample_count']} samples, daemon {grown / MIB:.1f} MiB more", flush=True)
        self.assertLess(grown, 24 * MIB)

    def test_small_objects_are_scaled_to_what_they_hold(self):
        """1 KiB of each 64 KiB is sampled: the sum of the samples is a sixty-fourth of the truth."""
        witness = self.daemon()
        self.assert_complete(witness, self.kill_leaker("small", "-chunk", 1024, limit_mb=256))

    def test_profile_switched_off_is_named_and_the_next_kill_is_complete(self):
        witness = self.daemon()
        box = self.cgroup("off", self.LIMIT_MB)
        self.leaker(box, "-profile-rate", 0).wait_killed()
        self.assert_failed(witness, box, "rate_zero")
        self.assert_complete(witness, self.kill_leaker("on"))

    def test_profile_linked_out_is_named(self):
        witness = self.daemon()
        program = tools.go_program("1.19", "strip-nopprof", "go-hostile")
        box = self.cgroup("linkedout", self.LIMIT_MB)
        self.start([program, "plain"], box).wait_killed()
        self.assert_failed(witness, box, "linked_out")


class Starts(GoHeapTest):
    alone = True

    def test_program_a_shell_becomes_later_is_complete(self):
        witness = self.daemon()
        shell = ("/bin/sh", "-c", 'sleep 0.4; exec "$@"', "sh")
        self.assert_complete(witness, self.kill_leaker("late", before=shell))

    def test_after_many_go_processes_have_come_and_gone(self):
        witness, program = self.daemon(), tools.go_program("1.19", "plain", "go-heap")
        loop = 'i=0; while [ $i -lt "$2" ]; do "$1" </dev/null >/dev/null || exit 1; i=$((i+1)); done'
        began = time.monotonic()
        loops = [subprocess.Popen(["sh", "-c", loop, "sh", program, str(PASSERS_BY // 4)]) for _ in range(4)]
        self.assertEqual([p.wait() for p in loops], [0] * 4)
        print(f"      {PASSERS_BY} Go processes in {time.monotonic() - began:.1f} s", flush=True)
        self.assert_complete(witness, self.kill_leaker("afterwards"))


class WithoutDaemon(GoHeapTest):
    def test_capture_by_pid_needs_neither_endpoint_nor_daemon(self):
        work = self.leaker(self.cgroup("alone", 256), "-limit-mb", 64, program=tools.go_program("1.26", "pie-strip"))
        work.wait_output("limit reached")
        target = os.path.join(self.scratch, "heap.pb.gz")
        done = run_cli("capture", "--pid", work.pid, "-o", target, status=0)
        share, name = tools.pprof_top(target)[0]
        self.assertEqual(name, LEAK)
        self.assertGreater(share, 90)
