# SPDX-License-Identifier: Apache-2.0
"""What fills programs without heap profiles, read over time: what keeps growing is named before the kill."""
import json
import os
import re
import shutil
import signal
import tempfile
import time
import unittest

from harness import fileio, tools
from harness.case import E2eTest, judged
from harness.daemon import run_cli
from harness.wait import eventually

PYTHON = "/usr/bin/python3"
START = f"import sys; sys.path.insert(0, {os.path.join(tools.WORKLOADS, 'python')!r}); import app; app.main()"
HELD = "held as `REQUEST_LOG` in module `app`"
# As often as the daemon's tick allows, and half a core for it; a real one is read once in minutes.
CONFIG = """
[trend]
min_interval_seconds = 1
max_interval_seconds = 1
suspect_after_seconds = 0
contents_core_share = 0.5
"""
# Nothing of it has a frame of its own, as a comprehension has before 3.12: one line of code touches all that comes.
SESSIONS = """
import time
sessions = {}
while True:
    for _ in range(20):
        sessions[len(sessions)] = {"history": list(map(f"page-{{}}-{len(sessions)}".format, range(60)))}
    time.sleep(0.02)
"""
# A few sessions for each time that it looks up all of a table in a file.
TABLE = """
import mmap, sys, time
with open(sys.argv[1], "rb") as file:
    table = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
sessions = {}
while True:
    for _ in range(20):
        sessions[len(sessions)] = {"history": [f"page-{i}-{len(sessions)}" for i in range(60)]}
    for _ in range(2):
        table[::4096]
    time.sleep(0.02)
"""
READINGS = "oomwitness_trend_contents_readings_total"
NODE = shutil.which("node") or shutil.which("nodejs")


def python(*arguments):
    return [PYTHON, "-c", START, *arguments]


@unittest.skipUnless(os.path.exists(PYTHON), f"there is no {PYTHON}")
class ContentsTrends(E2eTest):
    def services(self, commands):
        """{name: (its cgroup, the process)}, once each holds enough to be read."""
        boxes = {name: self.cgroup("contents-" + name, 2048) for name in commands}
        started = {name: (boxes[name], self.start(command, boxes[name], oom_score_adj=1000))
                   for name, command in commands.items()}
        for box, _ in started.values():
            eventually(lambda: box.usage() > 34 << 20, lambda: f"the service holds {box.usage()}", 120)
        return started

    def suspicion(self, witness, box):
        """1 or 0; None while too few readings were taken."""
        name = box.path.rsplit("/", 1)[-1]
        found = [v for l, v in witness.scrape().values("oomwitness_container_suspected_leak") if name in l["k8s_container_name"]]
        return found[0] if found else None

    @judged
    def test_what_keeps_growing_is_named_before_the_kill_and_what_is_in_balance_is_not(self):
        """Side by side, so that all take as long as one. What V8 lists has dead objects in it: told, and never suspected."""
        witness = self.daemon(CONFIG)
        commands = {"list": python("20"), "calm": python("40", "--healthy"),
                    "class": [tools.sessions(), "20000", "100000", "300"]}
        if NODE:
            commands["v8"] = [NODE, "--max-old-space-size=2048", os.path.join(tools.WORKLOADS, "node", "service.js"), "sessions", "30"]
        services = self.services(commands)
        for name in ("list", "class"):
            box, work = services[name]
            eventually(lambda: self.suspicion(witness, box) == 1, lambda: f"{name} to be suspected; "
                       f"{self.suspicion(witness, box)} of {witness.scrape().values(READINGS)}", 300)
            told = re.search(rf"pid {work.pid} keeps growing: (.*) to ", witness.log())
            self.assertIsNotNone(told, witness.log()[-3000:])
            self.assertIn({"list": "dict", "class": "shop::Session"}[name], told.group(1))
        for name in commands.keys() & {"calm", "v8"}:
            self.assertNotEqual(self.suspicion(witness, services[name][0]), 1, name)
        grown = {"list": ("cpython", ("list of dict", HELD)), "class": ("native", ("shop::Session",)), "v8": ("v8", ("Session",))}
        for name in commands.keys() & grown.keys():
            box, work = services[name]
            box.set_limit(box.usage() + (16 << 20))
        for name in commands.keys() & grown.keys():
            services[name][1].wait_killed()
            self.check_incident(witness, *services[name], *grown[name])

    # As a program that is throttled, or has no requests.
    @judged
    def test_a_leak_that_had_no_processor_in_its_third_quarter_is_still_one(self):
        self.check_stopped(68, 0.6)

    @judged
    def test_a_leak_that_had_none_in_its_last_quarter_is_one_by_the_samples_of_its_growth(self):
        self.check_stopped(88, 0.4)

    @judged
    def test_a_leak_that_was_full_for_long_and_read_its_file_again_and_again_is_still_one(self):
        """The table's pages are the container's, and are reclaimed before anything is killed: thrashing, for seconds or minutes."""
        witness, box = self.daemon(CONFIG), self.cgroup("contents-thrashed", 96)
        file = tempfile.NamedTemporaryFile(dir="/var/tmp")  # on a disk: what lies in memory is not read again
        self.addCleanup(file.close)
        file.write(b"x" * (6 << 20))
        file.flush()
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)  # so that they are charged to who reads them
        work = self.start([PYTHON, "-c", TABLE, file.name], box)
        work.wait_killed(300)
        incident = self.check_still_a_leak(witness, box)
        self.assertRegex(" ".join(incident["verdict"]["why"]), r"for the last [1-9]\d* s it was full and was thrashing",
                         (incident["pressure"], incident["series"]))

    def check_stopped(self, at_mib, share):
        """Stopped there, for such a share of its life until then."""
        witness, box, started = self.daemon(CONFIG), self.cgroup("contents-stopped", 96), time.monotonic()
        work = self.start([PYTHON, "-c", SESSIONS], box)
        eventually(lambda: box.usage() > at_mib << 20, lambda: f"the program holds {box.usage()}", 120)
        os.kill(work.pid, signal.SIGSTOP)
        time.sleep((time.monotonic() - started) * share)
        os.kill(work.pid, signal.SIGCONT)
        work.wait_killed()
        incident = self.check_still_a_leak(witness, box)
        self.assertIn("rose in three quarters of", " ".join(incident["verdict"]["why"]), incident["series"])

    def check_still_a_leak(self, witness, box):
        is_whole = lambda i: "contents_trend" in i and "growth" in i  # the last samples join it later
        incident = eventually(lambda: next(filter(is_whole, self.incidents_of(witness, box)), None),
                              lambda: f"an incident with a trend and growth; {self.incidents_of(witness, box)}", 60)
        told = (incident["verdict"], incident["series"], incident.get("growth"))
        self.assertIn("Memory leak in python3: a dict of ", incident["answer"]["sentence"], told)
        return incident

    def check_incident(self, witness, box, work, runtime, frames):
        # Judged at once, with trend.json once its names are there: that is a second writing of the incident.
        def is_told(i):
            return "contents_trend" in i and os.path.exists(os.path.join(i["_dir"], "trend.json"))

        def have():
            return [(i.get("contents_trend"), i["notes"], os.listdir(i["_dir"])) for i in self.incidents_of(witness, box)]

        incident = eventually(lambda: next((i for i in self.incidents_of(witness, box) if is_told(i)), None),
                              lambda: f"the incident to be told its trend, and trend.json; {have()}", 60)
        trend = incident["contents_trend"]
        self.assertEqual((trend["of"], trend["pid"]), (runtime, work.pid))
        self.assertNotIn("trend", incident, "that is a Go heap's")
        grown = {tuple(s["frames"]): s["last_held_bytes"] - s["first_held_bytes"] for s in trend["sites"]}
        self.assertGreater(grown.get(frames, 0), 8 << 20, trend["sites"])
        if runtime == "cpython":
            self.assertIn(HELD + " grew from", incident["answer"]["sentence"])
        document = fileio.read_json(os.path.join(incident["_dir"], "trend.json"))
        self.assertEqual(document["of"], runtime)
        self.assertGreaterEqual(len(document["readings"]), 3)
        for text in ("customer-", "/api/reports"):
            self.assertNotIn(text, json.dumps(document))

    def test_the_command_tells_what_grows_in_a_process_without_a_heap_profile(self):
        _, work = self.services({"command": python("40")})["command"]
        done = run_cli("trend", "--pid", work.pid, "--interval", 1.5, "--count", 6, timeout_s=180, status=0)
        self.assertIn("what grew most from the first reading to the last:", done.stdout)
        self.assertRegex(done.stdout, r"MiB -> +\S+ MiB  .*dict")
        refused = run_cli("trend", "--pid", work.pid, "--count", 1, "-o", os.path.join(self.scratch, "profiles"), status=1)
        self.assertIn("has no heap profiles", refused.stderr)
