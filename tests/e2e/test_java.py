# SPDX-License-Identifier: Apache-2.0
"""Java services: what fills them, read from outside while they run, and the answer after the kill."""
import os
import platform
import re
import time

from harness import tools
from harness.case import E2eTest
from harness.daemon import capture_with, run_cli
from harness.wait import eventually


ANALYSING = "[analyses]\nenabled = true\n"
# A heap grows by as much at once: no analysis begins that could not end before the limit at such a pace.
SMALL_YOUNG = "-Xmn4m"


def size_of(text):
    """Bytes of "12.5 MiB"."""
    number, unit = text.split()
    return float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]


class JavaTest(E2eTest):
    def java(self, box, heap_mb, mode, rate, *stop, options=(), collector="Serial", **settings):
        java, classes = tools.java_workload()
        tools.read_ahead(os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(java))), "lib"))
        # Serial: the only collector without threads and tables of its own, whose size depends on the machine.
        command = [java, f"-Xmx{heap_mb}m", f"-XX:+Use{collector}GC", "-Xshare:auto", *options, "-cp", classes, "Filler",
                   mode, str(rate), *map(str, stop)]
        return self.start(command, box, **settings)


class Live(JavaTest):
    def part(self, text, name):
        return size_of(re.search(rf"^ *([0-9.]+ [KMG]?i?B)  (?:.*  )?{name}", text, re.M).group(1))

    def at_rest(self, box):
        """The usage once the JVM's own threads have stopped taking memory (its compilers work on for a while)."""
        def unchanged():
            before = box.usage()
            time.sleep(1)
            return before if abs(box.usage() - before) < 128 << 10 else None
        return eventually(unchanged, lambda: f"usage at rest, {box.usage()}", 60)

    def test_what_fills_the_heap_is_named_by_class(self):
        process = self.java(self.cgroup("java-live", 512), 256, "heap", 400, 64)
        # While a collection moves them, some are there twice and others are not.
        text = capture_with(process.pid, r"(?s)6\d{4} type  byte\[\].* 61\d{3} type  Filler\$Session")
        self.assertGreater(self.part(text, r"byte\[\]"), 55 << 20)
        self.assertIn("maximum heap 256 MiB (set)", text)
        self.assertIn("Serial collector", text)

    def test_reading_costs_the_container_nothing(self):
        box = self.cgroup("java-cost", 512)
        process = self.java(box, 256, "heap", 400, 64)
        capture_with(process.pid, r"6\d\d\d\d type  Filler\$Session")
        before = self.at_rest(box)
        for _ in range(5):
            run_cli("capture", "--pid", process.pid)
        # The JVM's own threads run on, and the kernel counts in batches of 64 pages per CPU.
        self.assertLess(box.usage() - before, 1 << 20)

    def test_direct_buffers_are_counted_exactly(self):
        process = self.java(self.cgroup("java-direct", 512), 128, "direct", 400, 64)
        capture_with(process.pid, r"64\.0 MiB  direct buffers \(java\.nio\.Bits counts 64 of them\)")

    def test_threads_and_their_stacks(self):
        process = self.java(self.cgroup("java-threads", 512), 64, "threads", 100, 20)
        text = capture_with(process.pid, r"stacks of 2\d\d Java threads")
        self.assertGreater(self.part(text, "thread stacks"), 5 << 20)

    def test_metaspace(self):
        process = self.java(self.cgroup("java-metaspace", 512), 64, "metaspace", 20, 8)
        text = capture_with(process.pid, r"\b5\d\d loaders")
        self.assertGreater(self.part(text, "metaspace"), 3 << 20)


class Kills(JavaTest):
    """Most of the memory comes at once, the rest slowly: the last reading is of the time before the kill."""

    alone = True  # a reading beside two busy classes is of a time before most of it came

    def incident(self, witness, box):
        found = self.filled_incident(witness, box)
        found["parts"] = {part["name"]: part["bytes"] for part in found["composition"]["parts"]}
        return found

    def killed(self, name, limit_mb, heap_mb, mode, first_mb, rate, options=(), **settings):
        witness = self.daemon(ANALYSING)
        box = self.cgroup(f"java-{name}", limit_mb)
        self.killed_in = (witness, box)
        self.java(box, heap_mb, mode, rate, options=(f"-Dfirst={first_mb}", *options), **settings).wait_killed()
        incident = self.incident(witness, box)
        self.assertEqual(incident["analyses"][-1]["of"], "jvm", incident["analyses"])
        return incident

    def check_cause(self, incident, cause, sentence, action):
        self.assertEqual(incident["verdict"]["cause"], cause, (incident["verdict"], incident["composition"]))
        self.assertRegex(incident["answer"]["sentence"], sentence)
        self.assertRegex(incident["answer"]["action"], action)

    def check_last_figures(self):
        """Read after the kill from the file that the JVM mapped, in a revision of the incident."""
        wanted = (r"the JVM's own last figures: \d+ threads, \d+ loaded classes; \d+ collections took \d+\.\d of \d+\.\d s; "
                  r"the last one ended \d+\.\d s before and left ([0-9.]+ [KMG]iB) in the heap, [0-9.]+ [KMG]iB in metaspace")
        notes = lambda: [note for i in self.incidents_of(*self.killed_in) for note in i["notes"]]
        found = eventually(lambda: next(filter(None, (re.search(wanted, note) for note in notes())), None), notes, 30)
        self.assertGreater(size_of(found.group(1)), 40 << 20)
        # The same as fields: of the last reading while it lived, and of the counters it left.
        analyses = next(i["analyses"] for i in self.incidents_of(*self.killed_in) if i["analyses"][-1]["trigger"] == "oom_kill")
        living, end = [a["jvm"] for a in analyses if a["result"] == "ok"][-2:]
        self.assertEqual(living["heap_max_bytes"], 512 << 20)
        self.assertGreater(living["heap_used_bytes"], 40 << 20)
        self.assertGreater(living["heap_resident_bytes"], 40 << 20)
        self.assertGreater(living["metaspace_resident_bytes"], 0)  # most classes are in the archive
        self.assertGreater(living["code_cache_max_bytes"], living["code_cache_resident_bytes"])
        self.assertGreater(living["threads"], 1)
        self.assertAlmostEqual(end["heap_used_bytes"], size_of(found.group(1)), delta=1 << 20)
        self.assertTrue(end["heap_used_bytes"] <= end["heap_committed_bytes"] < 520 << 20, end)
        self.assertGreaterEqual(end["metaspace_committed_bytes"], end["metaspace_used_bytes"])
        self.assertGreater(end["threads"], 1)
        self.assertGreater(end["loaded_classes"], 100)
        self.assertLess(end["seconds_since_collection"], end["uptime_seconds"])

    def check_heap(self, collector):
        incident = self.killed("heap", 160, 512, "heap", 78, 10, options=(SMALL_YOUNG,), collector=collector)
        self.check_cause(incident, "does_not_fit", r"maximum heap of java does not fit: 512 MiB .* the limit of 160 MiB",
                         r"-Xmx\d+m, or raise the limit to \d+ MiB")
        heap_mb = int(re.search(r"-Xmx(\d+)m", incident["answer"]["action"]).group(1))
        self.assertTrue(48 <= heap_mb < 144, incident["answer"])
        self.assertGreaterEqual(incident["verdict"]["suggested_limit_bytes"], 528 << 20)
        classes = {filler["name"]: filler for filler in incident["fillers"]}
        self.assertGreater(classes["byte[]"]["bytes"], 55 << 20)
        self.assertIn("Filler$Session", incident["answer"]["sentence"])
        self.assertRegex(incident["answer"]["sentence"], r"`Filler\.SESSIONS`, a java\.util\.HashMap, has \d{5,6} entries")
        self.assertIn(f"{collector} collector, maximum heap 512 MiB (set)", str(incident["notes"]))
        self.check_last_figures()

    def test_maximum_heap_above_the_limit_with_serial(self):
        self.check_heap("Serial")

    def test_maximum_heap_above_the_limit_with_parallel(self):
        self.check_heap("Parallel")

    def test_maximum_heap_above_the_limit_with_g1(self):
        self.check_heap("G1")

    def test_service_in_balance_that_is_given_too_little_is_no_leak(self):
        incident = self.killed("service", 112, 112, "service", 60, 10, options=("-Xms112m", SMALL_YOUNG))
        self.check_cause(incident, "does_not_fit", "maximum heap of java does not fit", "raise the limit to")
        self.assertNotIn("leak", incident["answer"]["sentence"])

    def test_leak_of_a_class_in_a_heap_that_fits_is_named_by_class(self):
        witness = self.daemon(ANALYSING)
        box = self.cgroup("java-class", 160)
        victim = self.java(box, 96, "heap", 8, 70, options=("-Dfirst=66", SMALL_YOUNG), oom_score_adj=1000)
        eventually(lambda: box.usage() > 85 << 20, lambda: f"the service holds {box.usage()}", 60)
        self.memhog(box, "--rate-mb-s", "8")
        victim.wait_killed()
        incident = self.incident(witness, box)
        self.assertNotEqual(incident["verdict"] and incident["verdict"]["cause"], "does_not_fit", incident["verdict"])
        made = {filler["name"]: filler["count"] for filler in incident["fillers"]}["Filler$Session"]
        self.assertAlmostEqual(made, (70 << 20) / 1100, delta=0.02 * made)

    def test_direct_buffers(self):
        incident = self.killed("direct", 128, 48, "direct", 60, 6, options=("-XX:MaxDirectMemorySize=1g",))
        self.check_cause(incident, "direct_buffers", "Direct buffers filled java: .* were direct buffers", "MaxDirectMemorySize")
        self.assertGreater(incident["parts"]["direct buffers"], 60 << 20)
        if platform.machine() == "x86_64":
            self.assertIn("first touched mostly in Filler.fill, called by Filler.main (", incident["answer"]["sentence"])
        figures = next(a["jvm"] for a in reversed(incident["analyses"]) if a["result"] == "ok" and a["trigger"] != "oom_kill")
        self.assertEqual(figures["direct_max_bytes"], 1 << 30)
        self.assertGreater(figures["direct_bytes"], 60 << 20)
        self.assertGreater(figures["direct_buffers"], 0)

    def test_threads(self):
        incident = self.killed("threads", 128, 32, "threads", 60, 12)
        self.check_cause(incident, "thread_stacks", "Threads filled java: .* were thread stacks", "number of threads")
        self.assertGreater(incident["parts"]["thread stacks"], 24 << 20)

    def test_metaspace(self):
        incident = self.killed("metaspace", 112, 32, "metaspace", 40, 6)
        self.check_cause(incident, "metaspace", "Loaded classes filled java: .* were metaspace", "class loaders")
