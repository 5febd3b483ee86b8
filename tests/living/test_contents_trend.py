# SPDX-License-Identifier: Apache-2.0
"""What fills programs without heap profiles, read over time: what keeps growing is named before the kill."""
import json
import os
import re
import unittest

from harness import tools
from harness.case import E2eTest
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
READINGS = "oomwitness_trend_contents_readings_total"


@unittest.skipUnless(os.path.exists(PYTHON), f"there is no {PYTHON}")
class ContentsTrends(E2eTest):
    def python(self, box, *arguments):
        work = self.start([PYTHON, "-c", START, *arguments], box, oom_score_adj=1000)
        eventually(lambda: box.usage() > 34 << 20, lambda: f"the service holds {box.usage()}", 120)
        return work

    def suspicion(self, witness, box):
        """1 or 0; None while too few readings were taken."""
        name = box.path.rsplit("/", 1)[-1]
        found = [v for l, v in witness.scrape().values("oomwitness_container_suspected_leak") if name in l["container"]]
        return found[0] if found else None

    def test_a_list_that_keeps_growing_is_named_before_the_kill_and_one_in_balance_is_not(self):
        witness = self.daemon(CONFIG)
        leak, calm = self.cgroup("contents-leak", 768), self.cgroup("contents-calm", 768)
        work = self.python(leak, "10")
        self.python(calm, "40", "--healthy")
        eventually(lambda: self.suspicion(witness, leak) == 1, lambda: "the list to be suspected; have "
                   f"{self.suspicion(witness, leak)} of {witness.scrape().values(READINGS)}", 300)
        read = witness.scrape().sum(READINGS, result="ok")
        eventually(lambda: witness.scrape().sum(READINGS, result="ok") >= read + 10, "ten more readings of both", 240)
        self.assertNotEqual(self.suspicion(witness, calm), 1)
        told = re.search(rf"pid {work.pid} \(cpython\): (.*) keeps growing: from", witness.log())
        self.assertIsNotNone(told, witness.log()[-3000:])
        self.assertIn("dict", told.group(1))
        leak.set_limit(leak.usage() + (32 << 20))
        work.wait_killed()
        self.check_incident(witness, leak, work)

    def check_incident(self, witness, box, work):
        incident = eventually(lambda: next((i for i in self.incidents_of(witness, box)
                                            if os.path.exists(os.path.join(i["_dir"], "trend.json"))), None),
                              lambda: f"its trend beside the incident; {self.incidents_of(witness, box)}", 60)
        trend = incident["contents_trend"]
        self.assertEqual((trend["of"], trend["pid"]), ("cpython", work.pid))
        self.assertNotIn("trend", incident, "that is a Go heap's")
        grown = {tuple(s["frames"]): s["last_held_bytes"] - s["first_held_bytes"] for s in trend["sites"]}
        self.assertGreater(grown.get(("list of dict", HELD), 0), 8 << 20, trend["sites"])
        self.assertIn(HELD + " grew from", incident["answer"]["sentence"])
        with open(os.path.join(incident["_dir"], "trend.json"), encoding="utf-8") as file:
            document = json.load(file)
        self.assertEqual(document["of"], "cpython")
        self.assertGreaterEqual(len(document["readings"]), 5)
        for text in ("customer-", "/api/reports"):
            self.assertNotIn(text, json.dumps(document))

    def test_the_command_tells_what_grows_in_a_process_without_a_heap_profile(self):
        work = self.python(self.cgroup("contents-command", 768), "10")
        done = run_cli("trend", "--pid", work.pid, "--interval", 1.5, "--count", 6, timeout_s=180)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("what grew most from the first reading to the last:", done.stdout)
        self.assertRegex(done.stdout, r"MiB -> +\S+ MiB  .*dict")
        refused = run_cli("trend", "--pid", work.pid, "--count", 1, "-o", os.path.join(self.scratch, "profiles"))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("has no heap profiles", refused.stderr)
