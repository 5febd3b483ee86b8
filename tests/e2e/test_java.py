# SPDX-License-Identifier: Apache-2.0
"""Java services: what fills them, read from outside while they run, and the answer after the kill."""
import re
import time

from harness import tools
from harness.case import E2eTest
from harness.daemon import run_cli
from harness.wait import eventually


def size_of(text):
    """Bytes of "12.5 MiB"."""
    number, unit = text.split()
    return float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]


class JavaTest(E2eTest):
    def java(self, box, heap_mb, mode, rate, *stop, options=()):
        java, classes = tools.java_workload()
        # Serial: the only collector without threads and tables of its own, whose size depends on the machine.
        command = [java, f"-Xmx{heap_mb}m", "-XX:+UseSerialGC", "-Xshare:auto", *options, "-cp", classes, "Filler", mode,
                   str(rate), *map(str, stop)]
        return self.start(command, box)


class Live(JavaTest):
    def read(self, process, wanted):
        def captured():
            done = run_cli("capture", "--pid", process.pid)
            return done if re.search(wanted, done.stdout) else None
        return eventually(captured, lambda: f"/{wanted}/ in {run_cli('capture', '--pid', process.pid)}", 60).stdout

    def part(self, text, name):
        return size_of(re.search(rf"^ *([0-9.]+ [KMG]?i?B)  .*  {name}", text, re.M).group(1))

    def at_rest(self, box):
        """The usage once the JVM's own threads have stopped taking memory (its compilers work on for a while)."""
        def unchanged():
            before = box.usage()
            time.sleep(1)
            return before if abs(box.usage() - before) < 128 << 10 else None
        return eventually(unchanged, lambda: f"usage at rest, {box.usage()}", 60)

    def test_what_fills_the_heap_is_named_by_class(self):
        process = self.java(self.cgroup("java-live", 512), 256, "heap", 400, 64)
        text = self.read(process, r"6\d\d\d\d x Filler\$Session")
        self.assertGreater(self.part(text, r"\d+ x byte\[\]"), 55 << 20)
        self.assertIn("maximum heap 256 MiB (set)", text)
        self.assertIn("Serial collector", text)

    def test_reading_costs_the_container_nothing(self):
        box = self.cgroup("java-cost", 512)
        process = self.java(box, 256, "heap", 400, 64)
        self.read(process, r"6\d\d\d\d x Filler\$Session")
        before = self.at_rest(box)
        for _ in range(5):
            run_cli("capture", "--pid", process.pid)
        # The JVM's own threads run on, and the kernel counts in batches of 64 pages per CPU.
        self.assertLess(box.usage() - before, 1 << 20)

    def test_direct_buffers_are_counted_exactly(self):
        process = self.java(self.cgroup("java-direct", 512), 128, "direct", 400, 64)
        self.read(process, r"64 direct buffers, 64\.0 MiB")

    def test_threads_and_their_stacks(self):
        process = self.java(self.cgroup("java-threads", 512), 64, "threads", 100, 20)
        text = self.read(process, r"\b2\d\d threads")
        self.assertGreater(self.part(text, "thread stacks"), 5 << 20)

    def test_metaspace(self):
        process = self.java(self.cgroup("java-metaspace", 512), 64, "metaspace", 20, 8)
        text = self.read(process, r"\b5\d\d loaders")
        self.assertGreater(self.part(text, "metaspace"), 3 << 20)
