# SPDX-License-Identifier: Apache-2.0
"""Heaps read over time: what leaks is called, what stopped growing is not."""
import os
import shutil

from harness import fileio, pprof, tools
from harness.case import judged
from harness.daemon import run_cli
from harness.go_heap import LEAK, GoHeapTest
from harness.otel_collector import OtelCollector
from harness.terminal import on_terminal
from harness.wait import eventually

# As often as the daemon's tick allows, whatever other Go programs of the machine take; a real one waits five minutes
# before it calls anything.
CONFIG = """
[trend]
core_share = 0.05
min_interval_seconds = 1
max_interval_seconds = 1
suspect_after_seconds = 0
"""
SUSPECTED = "oomwitness_container_suspected_leak"


class Trends(GoHeapTest):
    def suspicion(self, witness, box):
        """1 or 0; None while too few readings were taken."""
        name = box.path.rsplit("/", 1)[-1]
        found = [v for l, v in witness.scrape().values(SUSPECTED) if name in l["k8s_container_name"]]
        return found[0] if found else None

    def wait_readings(self, witness, count):
        eventually(lambda: witness.scrape().sum("oomwitness_trend_readings_total", result="ok") >= count,
                   lambda: f"{count} readings; have {witness.scrape().values('oomwitness_trend_readings_total')}", 120)

    def suspicion_events(self, collector, *boxes):
        """[(cgroup, pid)] of the event oomwitness.suspected_leak, as a real Collector received it."""
        found = [(r.attributes["oomwitness.cgroup"], r.attributes["process.pid"]) for r in collector.logs()
                 if r.fields["EventName"] == "oomwitness.suspected_leak"]
        return [event for event in found if event[0] in [f"Str({box.path})" for box in boxes]]

    @judged
    def test_a_leak_is_suspected_and_a_heap_that_stopped_growing_is_not(self):
        collector = self.closing(OtelCollector(self.scratch))
        witness = self.daemon(CONFIG + f'[sinks.otlp]\nendpoint = "{collector.url}"\n')
        leak, calm = self.cgroup("trend-leak", 2048), self.cgroup("trend-calm", 2048)
        # A leak without any other garbage is collected at every doubling only; GOGC makes that every tenth.
        work = self.leaker(leak, rate=6, env={"GOGC": "10"})
        self.leaker(calm, "-limit-mb", 24, "-prefill-mb", 24, rate=6, env={"GOGC": "10"})
        eventually(lambda: self.suspicion(witness, leak) == 1, lambda: "the leak to be suspected; have "
                   f"{self.suspicion(witness, leak)}", 240)
        eventually(lambda: self.suspicion_events(collector, leak), lambda: f"its event; {collector.text()[-3000:]}", 60)
        self.wait_readings(witness, 10)
        self.assertNotEqual(self.suspicion(witness, calm), 1)
        self.assertEqual(self.suspicion_events(collector, leak, calm), [(f"Str({leak.path})", f"Int({work.pid})")])
        scrape = witness.scrape()
        self.assertGreater(scrape.sum("oomwitness_trend_memory_bytes"), 0)
        self.assertLessEqual(scrape.sum("oomwitness_trend_memory_bytes"), 8 << 20)

    def test_switched_off_nothing_is_read(self):
        witness = self.daemon("[trend]\nenabled = false\n")
        self.assertNotIn("oomwitness_trend_readings_total", witness.scrape().families())
        self.assertNotIn("oomwitness_trend_memory_bytes", witness.scrape().families())

    def test_a_killed_leaker_leaves_its_trend_beside_the_incident(self):
        witness = self.daemon(CONFIG)
        box = self.cgroup("trend-kill", 128)
        self.leaker(box, rate=8, env={"GOGC": "10"}).wait_killed()
        incident, _ = self.at_kill_of(witness, box)
        path = os.path.join(incident["_dir"], "trend.json")

        def with_the_kill():
            if not os.path.exists(path):
                return None
            trend = fileio.read_json(path)
            return trend if trend["readings"][-1]["origin"] == "at_kill" else None

        trend = eventually(with_the_kill, lambda: f"trend.json with the walk at the kill; {os.listdir(incident['_dir'])}",
                           60)
        def in_the_incident():
            told = fileio.read_json(os.path.join(incident["_dir"], "incident.json")).get("trend")
            return told if told and told["points"][-1]["origin"] == "at_kill" else None

        told = eventually(in_the_incident, lambda: "the incident to be amended with its trend", 60)
        self.assertTrue(any(LEAK in site["frames"][0] for site in told["sites"]), told["sites"])
        named = witness.scrape().sum("oomwitness_reader_jobs_total", kind="names", result="done")
        self.assertGreaterEqual(named, 1, "its names were looked up in a reader")
        self.assertEqual(trend["process"]["pid"], incident["victims"][0]["pid"])
        self.assertGreaterEqual(len(trend["readings"]), 3)
        held = [r["held_bytes"] for r in trend["readings"]]
        self.assertGreater(held[-1], 80 << 20)
        self.assertEqual(sum(r["is_baseline"] for r in trend["readings"]), 1)
        files = [r["file"] for r in trend["readings"] if r["file"]]
        self.assertGreaterEqual(len(files), 2)
        last = os.path.join(incident["_dir"], trend["readings"][-1]["file"])
        self.assertEqual(tools.pprof_top(last)[0][1], LEAK)
        profile = pprof.read(last)
        self.assertAlmostEqual(profile.total(), held[-1], delta=trend["readings"][-1]["buckets"] + 1)


class Command(GoHeapTest):
    """`oomwitness trend`, which needs no daemon."""

    def test_a_leak_is_named_with_its_function_and_each_reading_has_a_profile(self):
        box = self.cgroup("trend-command", 2048)
        work = self.leaker(box, rate=12, env={"GOGC": "10"})
        eventually(lambda: box.usage() > 16 << 20, lambda: "the leaker to run", 60)  # until then its pid is a shell's
        out = os.path.join(self.scratch, "profiles")
        done = run_cli("trend", "--pid", work.pid, "--interval", 1.5, "--count", 14, "-o", out, timeout_s=180, status=0)
        self.assertIn("suspected of a leak", done.stdout)
        self.assertIn(LEAK, done.stdout)
        self.assertEqual(len(os.listdir(out)), 14)
        self.assertEqual(tools.pprof_top(os.path.join(out, "trend-14.pb.gz"))[0][1], LEAK)

    def test_a_process_that_is_not_go_is_an_error(self):
        box = self.cgroup("trend-c", 64)
        work = self.memhog(box, "--hold-mb", "4")
        work.wait_output("ready")
        done = run_cli("trend", "--pid", work.pid, "--count", 2, "--interval", 0.1, status=1)
        self.assertIn("not_go", done.stderr)

    def assert_one_line(self, done, status, *words):
        self.assertEqual(done.returncode, status, done)
        self.assertEqual(len(done.stderr.strip().splitlines()), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_what_is_not_there_or_matches_nobody_is_one_clear_line(self):
        work = self.memhog(self.cgroup("trend-dead", 64))
        work.close()
        self.assert_one_line(run_cli("trend", "--pid", work.pid), 1, str(work.pid))
        self.assert_one_line(run_cli("trend", "--container", "abc"), 1, "no running container matches abc")
        self.assert_one_line(run_cli("trend", "--container", "../../../etc/passwd\x1b[2J"), 1, "no running container")
        self.assert_one_line(run_cli("trend", "--pod", "nobody/nothing"), 1, "nobody/nothing")

    def test_numbers_that_make_no_sense_are_bad_usage(self):
        for arguments in ([], ["--pid", 1, "--pod", "a/b"], ["--pid", -1], ["--pid", 1, "--interval", "nan"],
                          ["--pid", 1, "--interval", "inf"], ["--pid", 1, "--interval", 0], ["--pid", 1, "--count", 0]):
            with self.subTest(arguments=arguments):
                self.assertEqual(run_cli("trend", *arguments).returncode, 2)

    def test_a_program_whose_name_is_hostile_is_named_without_its_escapes(self):
        program = os.path.join(self.scratch, "go\x1b[2J\nheap")
        shutil.copy(tools.go_program("1.19", "strip"), program)
        work = self.leaker(self.cgroup("trend-name", 256), "-limit-mb", 24, program=program)
        work.wait_output("limit reached")
        text = on_terminal("trend", "--pid", work.pid, "--count", 3, "--interval", 0.1).replace("\x1b[K", "")
        for part in ("\r2/3, about 0 s left; Ctrl-C ends it earlier\r", " readings with a collection between them in ", "whole heap: ",
                     "no call site is suspected of a leak\n"):
            self.assertIn(part, text)
        self.assertNotIn("\x1b", text)

    def test_profiles_of_readings_need_a_directory(self):
        self.assert_one_line(run_cli("trend", "--pid", os.getpid(), "-o", "-"), 1, "trend -o names a directory: one profile a reading")

    def test_a_directory_that_cannot_be_made_is_an_error(self):
        blocked = os.path.join(self.scratch, "file")
        open(blocked, "w").close()
        done = run_cli("trend", "--pid", os.getpid(), "-o", os.path.join(blocked, "profiles"))
        self.assert_one_line(done, 1, blocked)
