# SPDX-License-Identifier: Apache-2.0
"""Programs without heap profiles: what fills them, by type and the name that holds it, and what malloc keeps."""
import json
import os
import signal
import unittest

from harness import fileio, pprof, tools
from harness.case import E2eTest
from harness.daemon import run_cli
from harness.wait import eventually

PYTHON = "/usr/bin/python3"
START = f"import sys; sys.path.insert(0, {os.path.join(tools.WORKLOADS, 'python')!r}); import app; app.main()"

# A million objects at once, which is half of its limit, then slowly on, and how many there are.
YOUNGER = """
import time
class Order:
    __slots__ = ("a", "b")
orders = [Order() for i in range(1_000_000)]
while True:
    orders.extend([Order() for i in range(4000)])
    print("made", len(orders), flush=True)
    time.sleep(0.05)
"""


def resident(pid):
    return fileio.read(f"/proc/{pid}/statm").split()[:3]


@unittest.skipUnless(os.path.exists(PYTHON), f"there is no {PYTHON}")
class Python(E2eTest):
    long = True

    def test_the_list_that_keeps_all_reports_is_named_with_its_module(self):
        witness = self.daemon()
        box = self.cgroup("reports", 96)
        self.start([PYTHON, "-c", START, "200"], box).wait_killed()
        incident = self.filled_incident(witness, box)
        holder = next((f for f in incident["fillers"] if f["kind"] == "holder" and f["held_as"]), None)
        self.assertIsNotNone(holder, incident["fillers"])
        self.assertEqual((holder["name"], holder["held_as"]), ("list of dict", "`REQUEST_LOG` in module `app`"))
        self.assertGreater(holder["share"], 0.6)
        self.assertGreater(incident["composition"]["named_ratio"], 0.9)
        self.assertIn("dict", [f["name"] for f in incident["fillers"] if f["kind"] == "type"])
        answer = incident["answer"]
        self.assertEqual(answer["culprit"]["claim"], "fills", answer)
        self.assertIn("`REQUEST_LOG` in module `app`", answer["sentence"])
        self.assertIn("`REQUEST_LOG` in module `app`", answer["action"])
        for text in ("customer-", "/api/reports"):
            self.assertNotIn(text, str(incident["fillers"]))
        self.check_profile(incident)

    def check_profile(self, incident):
        """What fills it is a profile beside the incident: of types, and of holders from one reading to the next."""
        contents = pprof.read(os.path.join(incident["_dir"], "contents.pb.gz"))
        self.assertEqual(contents.types, ["contents", "objects", "held"])
        self.assertRegex(run_cli("top", incident["_dir"]).stdout, r"(?m)^Type: contents$(?s:.*) dict$")
        held = "held as `REQUEST_LOG` in module `app`"
        self.assertIn(held, run_cli("top", incident["_dir"], "--type", "held").stdout)
        self.assertIn(held, run_cli("render", incident["_dir"], "--type", "held", "-o", "-").stdout)
        if os.path.exists(os.path.join(incident["_dir"], "contents-before.pb.gz")):  # it may be killed before a second one
            grown = run_cli("diff", incident["_dir"], "--type", "held", "--json", status=0)
            self.assertEqual(json.loads(grown.stdout)["rows"][0]["name"], held)

    def test_what_came_after_the_last_reading_is_counted_at_the_kill(self):
        witness = self.daemon()
        box = self.cgroup("younger", 96)
        victim = self.start([PYTHON, "-S", "-c", YOUNGER], box)
        victim.wait_killed()
        made = int(victim.text().split()[-1])
        incident = eventually(lambda: next((i for i in self.incidents_of(witness, box)
                                            if any(a.get("pools") for a in i["analyses"])), None),
                              lambda: [(i["analyses"], i["notes"]) for i in self.incidents_of(witness, box)], 30)
        counted = next(a for a in incident["analyses"] if a.get("pools"))
        self.assertEqual((counted["of"], counted["trigger"], counted["result"]), ("cpython", "oom_kill", "ok"))
        at_kill = next(t for t in counted["pools"]["types"] if t["name"] == "Order")
        if not counted["pools"].get("cut"):  # else the machine was too busy for 20 ms of it
            self.assertAlmostEqual(at_kill["count"], made, delta=4000 + made // 100, msg=counted)
            before = next(f for f in incident["fillers"] if (f["kind"], f["name"]) == ("type", "Order"))
            self.assertGreater(at_kill["count"], before["count"])
        self.assertRegex(incident["answer"]["sentence"], r"At the kill .* were small objects, by an estimate 9\d % of them Order")
        self.assertIn("## Python objects at the kill", fileio.read(os.path.join(incident["_dir"], "report.md")))

    def test_a_service_in_balance_is_read_by_hand_and_loses_nothing_by_it(self):
        box = self.cgroup("balance", 256)
        program = self.start([PYTHON, "-c", START, "100", "--healthy"], box)
        eventually(lambda: box.usage() > 25 << 20, lambda: f"the service holds {box.usage()}", 60)
        os.kill(program.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, program.pid, signal.SIGCONT)
        before = resident(program.pid)
        usage = box.usage()
        printed = run_cli("capture", "--pid", program.pid).stdout
        self.assertIn("held as `REQUEST_LOG` in module `app`", printed)
        self.assertIn("python objects: in use", printed)
        self.assertEqual(resident(program.pid), before)
        self.assertLess(box.usage() - usage, 256 << 10)

    def test_what_grew_in_a_living_service_is_named_by_its_holder(self):
        box = self.cgroup("growing", 256)
        program = self.start([PYTHON, "-c", START, "100"], box)

        def read_at(mb):
            eventually(lambda: box.usage() > mb << 20, lambda: f"the service holds {box.usage()}", 60)
            target = os.path.join(self.scratch, f"at-{mb}.pb.gz")
            os.kill(program.pid, signal.SIGSTOP)  # a list that is moved while it is read has no name
            done = run_cli("capture", "--pid", program.pid, "-o", target)
            os.kill(program.pid, signal.SIGCONT)
            self.assertIn(f"{target}: what fills pid {program.pid} (cpython)", done.stdout)
            return target

        grown = json.loads(run_cli("diff", read_at(30), read_at(60), "--type", "held", "--json").stdout)
        self.assertEqual(grown["rows"][0]["name"], "held as `REQUEST_LOG` in module `app`")
        self.assertGreater(grown["rows"][0]["growth"], 10 << 20)


class Malloc(E2eTest):
    def test_what_malloc_keeps_free_is_the_cause_when_it_fills_the_limit(self):
        witness = self.daemon()
        box = self.cgroup("retention", 96)
        self.start([tools.retention(), "64", "200"], box).wait_killed()
        incident = self.filled_incident(witness, box)
        free = {part["name"]: part["bytes"] for part in incident["composition"]["parts"]}
        self.assertGreater(free["malloc: free"], 50 << 20)
        self.assertEqual(incident["verdict"]["cause"], "allocator_retention", incident["verdict"])
        self.assertIn("malloc_trim", incident["answer"]["action"])


class Classes(E2eTest):
    def test_objects_of_a_stripped_c_plus_plus_program_are_counted_by_class(self):
        witness = self.daemon()
        box = self.cgroup("classes", 96)
        self.start([tools.sessions(), "60000", "20000"], box).wait_killed()
        incident = self.filled_incident(witness, box)
        counts = {f["name"]: f["count"] for f in incident["fillers"] if f["kind"] == "type"}
        self.assertAlmostEqual(counts.get("shop::Session", 0), 60000, delta=1200)
        self.assertAlmostEqual(counts.get("shop::Invoice", 0), 20000, delta=400)
        self.assertIn("objects of type shop::Session filled", incident["answer"]["sentence"])
