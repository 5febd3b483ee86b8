# SPDX-License-Identifier: Apache-2.0
"""Attack: whatever takes a worker's time: bodies that drip, memory that never answers, many programs that claim to be Go.

Seen: slow HTTP bodies in 4 containers, 7 processes whose memory hangs, or 70 fake Go processes took other tenants' http
and live captures, and the at_kill of a victim that was registered.
Must hold: the bars of hostile_case; the neighbour has its http capture beside slow bodies.
"""
import os

from harness import fuse, tools
from harness.daemon import CAPTURE_AT_80
from harness.process_state import is_asked
from hostile_case import HostileTest, eventually

CONFIG = CAPTURE_AT_80


class SlowCaptures(HostileTest):
    def test_slow_bodies_take_nobody_elses_http_capture(self):
        self.fortress(CONFIG)
        never = os.path.join(self.public, "never")
        box = self.cgroup("asked", 96)  # below the level until all the slow ones are being read
        self.leaky_go(box, "-prefill-mb", "60", "-rate", "60", "-limit-mb", "66", "-profile-rate", "65536").wait_output(
            "limit reached")
        endpoint = self.published(tools.hostile_endpoint())
        slow = []
        for number in range(4):
            slow_box = self.cgroup(f"slow{number}", 96)
            slow.append(self.attack(slow_box, ["/usr/bin/python3", endpoint, "drip", 76, 60, never]))
        for work in slow:
            work.wait_output("filled")
        eventually(lambda: sum(is_asked(work.pid) for work in slow) >= 2, "slow bodies are being read")
        self.memhog(box, "--rate-mb-s", "100", "--leak-mb", "12")
        eventually(lambda: self.captures(box), lambda: f"an attempt on the neighbour; {work.describe()}")
        print(f"      {self.captures(box)} beside {sum(is_asked(work.pid) for work in slow)} slow bodies", flush=True)
        self.assertIn(("ok", ""), self.captures(box))
        self.assert_unhurt()

    def hanging_files(self, program):
        return fuse.mounted(self, os.path.join(self.public, "fuse"), program)

    def test_memory_that_hangs(self):
        files = self.hanging_files(tools.go_program("1.19", "strip"))
        self.fortress()
        for number in range(7):
            box = self.cgroup(f"hung{number}", 64)
            self.attack(box, [self.program("fake_go"), "file", files.path]).wait_output("ready")
        files.hang()  # only mapped so far: what reads their memory waits for the file system
        try:
            self.kill_neighbour()
            self.assert_unhurt()
        finally:
            files.close()

    def test_executables_that_hang_once_they_are_open(self):
        files = self.hanging_files(self.program("fake_go"))
        for number in range(6):
            box = self.cgroup(f"hung{number}", 64)
            for _ in range(2):
                self.attack(box, [files.path, "idle"]).wait_output("ready")
        files.hang((fuse.READ,))  # what was read is dropped by the next open
        try:
            self.fortress()
            eventually(lambda: sum(self.hung()) >= 1, "a reader or a thread waits for the files")
            self.kill_neighbour()
            self.assert_unhurt()
            timeouts, refused, threads = self.hung()
            print(f"      {timeouts} readers hung, {refused} programs refused, {threads} threads hung", flush=True)
            self.assertLessEqual(timeouts, 3, "as many as there are readers")
        finally:
            files.close()

    def hung(self):
        """Readers that were ended, programs that got none, and threads. Whoever reads the files first holds up the rest
        in open(), be it another daemon of this node."""
        metrics = self.witness.scrape()
        inspections = {labels["result"]: int(count) for labels, count in metrics.values(
            "oomwitness_reader_jobs_total", kind="inspection")}
        threads = int(metrics.sum("oomwitness_events_lost_total", stage="hung_files"))
        return inspections["timeout"], inspections["refused"], threads

    def test_70_programs_that_claim_to_be_go(self):
        self.fortress()
        box = self.cgroup("fakes", 64)
        program = self.program("fake_go")
        works = [self.attack(box, [program, "idle"], own_netns=False) for _ in range(70)]
        for work in works:
            work.wait_output("ready")
        self.kill_neighbour()
        self.assert_unhurt()
