# SPDX-License-Identifier: Apache-2.0
"""The answer: whose code it was and for which endpoint, in the first lines of everything."""
import os

from harness import fileio, tools
from harness.daemon import run_cli
from harness.go_heap import GoHeapTest
from harness.wait import eventually


class Answers(GoHeapTest):
    long = True

    def answered(self, witness, box):
        """The incident once its heap at the kill is in it. One of seconds before may be of half of the memory."""
        if witness.rung_of("heap_at_kill") != "none":
            return self.at_kill_of(witness, box)[0]
        return eventually(lambda: next((i for i in self.incidents_of(witness, box) if i.get("fillers")), None),
                          lambda: f"an incident of {box.path} whose profile names code", 30)

    def check_service(self, version):
        program = tools.go_program(version, "strip", folder="service-go")
        witness = self.daemon()
        box = self.cgroup("service", self.LIMIT_MB)
        self.start([program, "-profile-rate", "65536"], box).wait_killed()
        incident = self.answered(witness, box)
        operations = incident["operations"]
        self.assertEqual((operations[0]["kind"], operations[0]["name"]), ("endpoint", "main.(*server).report"))
        self.assertGreater(operations[0]["share"], 0.5)
        answer = incident["answer"]
        culprit = answer["culprit"]
        self.assertEqual((culprit["claim"], culprit["operation"]), ("allocates", "main.(*server).report"), answer)
        self.assertTrue(culprit["code"].startswith("main.(*cache).put (main.go:"), answer)
        self.assertEqual(culprit["path"][0], "main.(*cache).put")
        self.assertIn("main.(*cache).put", answer["sentence"])

        def said_last():
            return next(line for line in reversed(witness.log().splitlines()) if incident["id"] in line)

        eventually(lambda: "main.(*cache).put" in said_last(), said_last)
        return witness, incident

    def test_the_endpoint_that_never_gives_back_is_named_by_go_1_19(self):
        self.check_service("1.19")

    def test_the_answer_heads_the_report_show_and_the_list_by_go_1_27(self):
        witness, incident = self.check_service("1.27")
        shown = run_cli("show", incident["id"], "--data-dir", witness.data_dir).stdout.split("\n")
        self.assertTrue(shown[0].startswith("OOM kill in "), shown)
        self.assertIn("cache).put", " ".join(shown[1:4]))

        def are_alike():  # evidence that comes later may change the cause, in the file and in the list
            verdict = self.incidents_of(witness)[0]["verdict"]
            return (verdict["cause"] if verdict else " - ") in run_cli("incidents", "--data-dir", witness.data_dir).stdout

        eventually(are_alike, lambda: "the cause of the incident in the list")

    def test_operations_follow_the_patterns_of_the_configuration(self):
        """The endpoint calls a cache: named as what is called by it, as a framework would be."""
        program = tools.go_program("1.27", "strip", folder="service-go")
        witness = self.daemon('[operations]\npatterns = ["job main.(*server).report"]\n')
        box = self.cgroup("pattern", self.LIMIT_MB)
        self.start([program, "-profile-rate", "65536"], box).wait_killed()
        incident = self.answered(witness, box)
        first = incident["operations"][0]
        self.assertEqual((first["kind"], first["name"]), ("job", "main.(*cache).put"), incident["operations"])

    def test_a_program_that_is_not_go_gets_no_name_and_what_would_tell(self):
        witness = self.daemon()
        box = self.cgroup("hog", 64)
        self.start([tools.memhog(), "--rate-mb-s", "50"], box).wait_killed()
        incident = self.wait_incidents(witness, 1, box)[0]
        self.assertIsNone(incident["answer"]["culprit"])
        self.assertTrue(incident["answer"]["sentence"])
        self.assertTrue(incident["answer"]["action"])

    def test_the_process_that_held_what_the_victim_did_not_is_named(self):
        witness = self.daemon()
        box = self.cgroup("pair", 96)
        hold = "import time; held = bytearray(60 << 20); print('held', flush=True); time.sleep(1e6)"
        large = self.start(["/usr/bin/python3", "-c", hold], box)
        large.wait_output("held")
        self.start([tools.memhog(), "--rate-mb-s", "20"], box, oom_score_adj=1000).wait_killed()
        incident = self.wait_incidents(witness, 1, box)[0]
        self.assertEqual(incident["verdict"]["cause"], "sibling", incident["answer"])
        largest = incident["other_processes"]["largest"]
        self.assertEqual(largest["pid"], large.pid)
        self.assertGreater(largest["resident_bytes"], 60 << 20)
        self.assertIn(f"python3 (pid {large.pid}, `/usr/bin/python3 -c", incident["answer"]["sentence"])


class Again(GoHeapTest):
    """A workload that is killed again, also by the eyes of the next daemon."""

    def kill(self, box):
        self.start([tools.go_program("1.27", "strip", folder="service-go"), "-profile-rate", "65536"], box).wait_killed()

    def newest(self, witness, box, kills):
        """The incident after `kills` others, once it can tell whether the culprit is the same."""
        def told():
            found = [i for i in self.incidents_of(witness, box) if (i.get("earlier") or {}).get("kills") == kills]
            return next((i for i in found if "same_culprit" in i["answer"]), None)
        return eventually(told, lambda: [(i.get("earlier"), i["answer"]) for i in self.incidents_of(witness, box)], 30)

    def test_the_next_kills_say_so_and_that_the_culprit_is_the_same(self):
        witness = self.daemon()
        box = self.cgroup("again", self.LIMIT_MB)
        self.kill(box)
        first = self.wait_incidents(witness, 1, box)[0]
        self.assertNotIn("earlier", first)
        self.kill(box)
        second = self.newest(witness, box, 1)
        self.assertEqual((second["earlier"]["id"], second["answer"]["same_culprit"]), (first["id"], True), second["answer"])
        self.assertIn(second["answer"]["again"], fileio.read(os.path.join(second["_dir"], "report.md")))
        self.assertIn("The culprit is the same", run_cli("show", second["id"], "--data-dir", witness.data_dir).stdout)
        witness.stop()
        witness = self.daemon(data_dir=witness.data_dir)
        self.kill(box)
        third = self.newest(witness, box, 2)
        self.assertEqual((third["earlier"]["id"], third["answer"]["same_culprit"]), (second["id"], True), third["answer"])
