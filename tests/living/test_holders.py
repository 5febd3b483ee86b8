# SPDX-License-Identifier: Apache-2.0
"""Who keeps the memory of a Go program, found while it lives, known when it is killed."""
import os

from harness import fileio, pprof, tools
from harness.go_heap import GoHeapTest
from harness.wait import eventually



class Holders(GoHeapTest):
    def analysed(self, witness, box, wanted):
        return eventually(lambda: next((i for i in self.incidents_of(witness, box) if wanted(i)), None),
                          lambda: [(i["id"], i.get("analyses"), i["notes"]) for i in self.incidents_of(witness, box)], 30)

    def check_owner(self, version):
        """75 MiB at once, and then slowly on: the search ends long before the kill."""
        witness = self.daemon()
        box = self.cgroup("owner", self.LIMIT_MB)
        program = tools.go_program(version, "strip")
        self.leaker(box, "-prefill-mb", 75, program=program, rate=2).wait_killed()
        incident = self.analysed(witness, box, lambda i: i.get("holders"))
        first = incident["holders"][0]
        self.assertTrue(first["owner"], (incident["holders"], incident["notes"]))
        self.assertRegex(first["chain"][0], r"^global (main\.orders|used by .*main\.leakyCache)")
        self.assertGreater(first["share"], 0.9)
        self.assertIn("Kept by global", incident["answer"]["sentence"])
        return witness, incident

    def test_owner_is_named_in_answer_report_and_files_by_go_1_27(self):
        _, incident = self.check_owner("1.27")
        analysis = incident["analyses"][-1]
        self.assertEqual((analysis["of"], analysis["result"]), ("go", "ok"), incident["analyses"])
        self.assertEqual([f["name"] for f in analysis["files"]], ["holders.json", "holders.pb.gz"])
        document = fileio.read_json(os.path.join(incident["_dir"], "holders.json"))
        self.assertTrue(document["named"])
        self.assertRegex(document["holders"][0]["root"], "main.(orders|leakyCache)")
        profile = pprof.read(os.path.join(incident["_dir"], "holders.pb.gz"))
        self.assertGreater(profile.total("held"), 40 << 20)
        self.assertIn("## Who keeps the memory", fileio.read(os.path.join(incident["_dir"], "report.md")))

    def test_owner_is_named_by_go_1_19(self):
        self.check_owner("1.19")

    def test_goroutines_that_wait_for_ever_are_counted(self):
        program = tools.go_program("1.26", "strip", folder="go-holders")
        witness = self.daemon()
        box = self.cgroup("goroutines", 56)
        victim = self.start([program], box, oom_score_adj=1000, env={"HOLD": "goroutines"})
        victim.wait_output("ready")
        self.memhog(box, "--rate-mb-s", "4")
        victim.wait_killed()
        incident = self.analysed(witness, box, lambda i: i.get("goroutines"))
        first = incident["goroutines"][0]
        self.assertGreaterEqual(first["count"], 1500, incident["goroutines"])
        self.assertIn("main.handle", " ".join(first["stack"]))
        self.assertEqual(first["state"], "waiting")
        self.check_counted_at_the_kill(witness, box, "chan send", 1500)

    def check_counted_at_the_kill(self, witness, box, reason, count):
        """By the kernel, at the place that the reading before had proved."""
        incident = self.analysed(witness, box, lambda i: any(c.get("goroutines") for c in i["captures"]))
        capture = next(c for c in incident["captures"] if c.get("goroutines"))
        self.assertEqual((capture["method"], capture.get("goroutines_cut", "")), ("at_kill", ""), capture)
        counted = {(one["state"], one.get("reason", "")): one["count"] for one in capture["goroutines"]}
        self.assertEqual(counted[("waiting", reason)], count, counted)
        self.assertIn(f"At the kill: {count} waiting for {reason}", fileio.read(os.path.join(incident["_dir"], "report.md")))
