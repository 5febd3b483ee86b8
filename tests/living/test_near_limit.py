# SPDX-License-Identifier: Apache-2.0
"""Readings of living processes at 94 % of their limit: not a byte more is charged to the container for having been read."""
import os
import shutil
import signal
import time
import unittest

from harness import cgroup, tools
from harness.case import MIB, E2eTest
from harness.daemon import capture_with, run_cli
from harness.wait import eventually

PYTHON, NODE = "/usr/bin/python3", shutil.which("node") or shutil.which("nodejs")
FLUSH_S = 2.5  # the kernel adds up what its CPUs have counted for memory.stat every 2 s
SHARED_MIB = 8
# Its pages are there for nobody yet: whoever reads one makes it, and the process pays.
UNTOUCHED = f"""
import ctypes, mmap, time
area = mmap.mmap(-1, {SHARED_MIB << 20}, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
kept = [{{"number": n, "text": "x" * 100}} for n in range(100_000)]
print("ready", ctypes.addressof(ctypes.c_char.from_buffer(area)), flush=True)
time.sleep(3600)
"""


def charged(box):
    """What memory.stat counts in pages; memory.usage_in_bytes counts ahead, 64 pages for each CPU."""
    time.sleep(FLUSH_S)
    stat = dict(line.split() for line in box.read("memory.stat").splitlines())
    return sum(int(stat[key]) for key in (("rss", "cache") if cgroup.VERSION == 1 else ("anon", "file")))


class NearLimit(E2eTest):
    def at_94_percent(self, process, box):
        """It stands still, so that whatever is charged from now on is the reader's doing."""
        os.kill(process.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, process.pid, signal.SIGCONT)
        before = charged(box)
        box.set_limit(int(box.usage() / 0.94))
        return before

    def assert_free(self, process, box, command, wanted):
        before = self.at_94_percent(process, box)
        done = run_cli(command, "--pid", process.pid)
        self.assertIn(wanted, done.stdout, done)
        # The kernel may give back a page of a process that stands still.
        self.assertLessEqual(charged(box), before)
        self.assertEqual(box.kernel_kills(), 0)

    def python(self, box):
        process = self.start([PYTHON, "-c", UNTOUCHED], box)
        process.wait_output("ready")
        return process, int(process.text().split()[-1])

    def test_python_with_shared_pages_that_nobody_has_touched(self):
        box = self.cgroup("near-python")
        process, _ = self.python(box)
        self.assert_free(process, box, "capture", "held as `kept` in module `__main__`")

    def test_a_reader_that_touches_such_pages_is_seen(self):
        """So that the others can fail."""
        box = self.cgroup("near-control")
        process, address = self.python(box)
        before = self.at_94_percent(process, box)
        box.set_limit(box.usage() + 2 * SHARED_MIB * MIB)
        with open(f"/proc/{process.pid}/mem", "rb", buffering=0) as memory:
            memory.seek(address)
            memory.read(SHARED_MIB << 20)
        self.assertGreaterEqual(charged(box) - before, (SHARED_MIB - 1) << 20)

    def test_owner_in_a_go_heap(self):
        box = self.cgroup("near-go")
        process = self.start([tools.go_program("1.27", "strip"), "-listen", "", "-prefill-mb", "75", "-limit-mb", "75"], box)
        eventually(lambda: box.usage() > 70 * MIB, lambda: f"75 MiB, has {box.usage()}", 60)
        self.assert_free(process, box, "holders", "leakyCache")

    @unittest.skipUnless(NODE, "there is no node here")
    def test_objects_of_node(self):
        box = self.cgroup("near-node")
        tools.read_ahead(os.path.realpath(NODE))
        process = self.start([NODE, os.path.join(tools.WORKLOADS, "node", "service.js"), "sessions", "100"], box)
        eventually(lambda: box.usage() > 100 * MIB, lambda: f"100 MiB, has {box.usage()}", 60)
        self.assert_free(process, box, "capture", "Session")

    def test_classes_of_java(self):
        java, classes = tools.java_workload()
        box = self.cgroup("near-java")
        process = self.start([java, "-Xmx256m", "-XX:+UseSerialGC", "-cp", classes, "Filler", "heap", "400", "64"], box)
        capture_with(process.pid, r"6\d{4} type  Filler\$Session")  # it has what it keeps
        self.assert_free(process, box, "capture", "Filler$Session")
