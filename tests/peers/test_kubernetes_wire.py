# SPDX-License-Identifier: Apache-2.0
"""What goes over the wire to and from the Kubernetes API: refusals, garbage, thousands of pods, Events posted."""
import json
import os
import signal
import time

from harness import fileio
from harness.api_server import make_authority
from harness.case import MIB
from harness.daemon import run_cli
from harness.wait import eventually
from test_kubernetes import ListedPodTest, PodTest


class Wire(ListedPodTest):
    def errors(self, witness, kind, count=1):
        self.wait_value(witness, count, "kubernetes_errors_total", kind=kind)

    def test_an_expired_token_is_read_again(self):
        witness = self.started()
        self.api.write_token("token-two")
        self.api.tokens = {"token-two"}
        self.api.watch_s = 2
        self.api.stop()
        self.api.start()
        self.errors(witness, "unauthorized")
        self.wait_value(witness, 1, "kubernetes_state", state="watching")
        self.api.put(self.make_pod("another", uid="u2", container_id="c2"))
        self.wait_value(witness, 2, "kubernetes_pods")

    def test_a_version_that_is_gone_is_listed_anew(self):
        self.api.put(self.make_pod("goes", uid="u2", container_id="c2"))
        witness = self.started()
        del self.api.pods["u2"]
        self.api.forget_versions()
        self.errors(witness, "gone")
        eventually(lambda: self.value(witness, "kubernetes_pods") == 1, "the pod that went meanwhile is gone")
        lists = [query for method, _, query in self.api.requests if "limit" in query]
        self.assertEqual(len(lists), 2, lists)
        self.assertEqual(lists[0]["resourceVersion"], "0")
        self.assertNotIn("resourceVersion", lists[1])

    def test_a_watch_that_ends_goes_on_from_its_last_bookmark(self):
        self.api.watch_s = 1.1  # below 1 s it would count as a failure
        witness = self.started()
        self.wait_value(witness, 3, "kubernetes_watches_total")
        self.assertEqual(self.value(witness, "kubernetes_lists_total"), 1)

    def test_what_is_no_answer_is_counted_and_tried_again(self):
        self.bundle()
        self.api.start()
        answers = {
            "content_type": lambda h, _: h.answer(200, b"<html>", "text/html"),
            "malformed": lambda h, _: h.answer(200, b"{]" * 100),
            "redirect": lambda h, _: h.answer(302, b"{}", headers=[("Location", "https://127.0.0.1:1/")]),
            "forbidden": lambda h, _: h.answer(403, {"kind": "Status", "message": "no\x1b[31m"}),
            "server": lambda h, _: h.answer(500, b"oops"),
            "too_large": lambda h, _: h.answer(200, b'{"items":[{"a":"' + b"x" * (3 * MIB)),
        }
        for kind, answer in answers.items():
            with self.subTest(kind):
                self.api.list_answer = answer
                witness = self.witness()
                self.errors(witness, kind)
                witness.stop()
        self.api.list_answer = None
        witness = self.witness()
        self.wait_value(witness, 1, "kubernetes_pods")

    def test_a_watch_line_without_end_is_given_up(self):
        def endless(handler, _):
            handler.begin_stream()
            while self.api.server is not None:
                handler.chunk(b"x" * 65536)

        self.api.watch_answer = endless
        self.api.start()
        witness = self.witness()
        self.errors(witness, "too_large")
        self.assertLess(self.value(witness, "kubernetes_watches_total"), 5)

    def test_a_server_of_another_authority_is_refused(self):
        self.api.ca_file = make_authority(self.scratch, "other")[0]
        self.api.start()
        witness = self.witness()
        self.errors(witness, "tls")
        self.assertEqual(self.api.requests, [], "nothing is said to it, least of all the token")

    def test_doctor_says_whether_it_answers(self):
        def line(**wanted):
            config = os.path.join(self.scratch, "doctor.toml")
            fileio.write(config, self.api.config())
            done = run_cli("doctor", "--json", "--config", config, "--data-dir", self.scratch)
            report = json.loads(done.stdout)
            found = [c for c in report["checks"] if c["name"] == "kubernetes_api"][0]
            self.assertEqual({key: found[key] for key in wanted}, wanted, found)
            self.assertFalse(found["needed"])
            return found["detail"]

        self.assertIn("names come from the runtime's files", line(ok=False))
        self.api.start()
        self.assertIn("lists the pods of node node-1", line(ok=True))
        self.api.list_answer = lambda h, _: h.answer(403, {"kind": "Status", "message": "pods is forbidden"})
        self.assertIn("pods is forbidden", line(ok=False))


class ManyPods(PodTest):
    COUNT = 5000

    def fill(self):
        for i in range(self.COUNT):
            pod = self.make_pod(f"otelcol-7f9c6d5b8-{i:05}", uid=f"0f3c1a52-9d41-4b5e-8a2b-{i:012}",
                           container_id=f"{i:064x}")
            pod["metadata"]["labels"] = {f"app.kubernetes.io/label-{k}": f"value-of-label-{k}" for k in range(6)}
            self.api.pods[pod["metadata"]["uid"]] = pod

    @staticmethod
    def resident(witness):
        return int(fileio.read(f"/proc/{witness.pid}/statm").split()[1]) * 4096

    def resident_at_rest(self, witness):
        """Once nothing is loaded or given back any more: programs for growth come a moment after the start."""
        def unchanged():
            before = self.resident(witness)
            time.sleep(6)
            return abs(before - self.resident(witness)) < MIB // 4 and before
        return eventually(unchanged, "memory at rest", 60)

    def test_memory_of_five_thousand_pods(self):
        """What it learns of programs beside it, as of those of the tests that run at the same time, is not the pods'."""
        self.api.start()
        others = "[triggers]\ncapture_percents = []\n" + "".join(f"[{part}]\nenabled = false\n" for part in ("trend", "analyses", "growth"))
        witness = self.witness("max_pods = 5000\n" + others)
        self.wait_value(witness, 1, "kubernetes_state", state="watching")
        before = self.resident_at_rest(witness)
        self.fill()
        self.api.forget_versions()
        self.wait_value(witness, self.COUNT, "kubernetes_pods", timeout=60)
        each = (self.resident_at_rest(witness) - before) / self.COUNT
        print(f"resident bytes per pod held: {each:.0f}")
        self.assertLess(each, 4096)
        self.assertEqual(self.api.count(limit="500"), 1 + self.COUNT // 500, "pages of 500, no list too many")

    def test_of_more_in_one_list_than_there_is_room_for_the_others_are_counted(self):
        self.fill()
        self.api.is_paged = False
        self.api.start()
        witness = self.witness()
        self.wait_value(witness, 2000, "kubernetes_pods", timeout=60)
        self.wait_value(witness, self.COUNT - 2000, "events_lost_total", timeout=60, stage="kubernetes_pods")
        self.assertEqual(self.api.count(limit="500"), 1)


class PodEvents(ListedPodTest):
    def test_nothing_is_posted_unless_asked_for(self):
        witness = self.started()
        self.kill()
        self.incident(witness)
        time.sleep(1)
        self.assertEqual(self.api.count("POST"), 0)

    def test_an_event_tells_of_the_kill_and_where_the_evidence_lies(self):
        witness = self.started("post_events = true\n")
        self.kill()
        incident = self.incident(witness)
        eventually(lambda: self.api.posted, "an Event")
        path, event = self.api.posted[0]
        self.assertEqual(path, f"/api/v1/namespaces/{self.namespace}/events")
        self.assertEqual(event["involvedObject"]["uid"], self.uid)
        self.assertEqual(event["reason"], "OOMKill")
        self.assertIn(incident["id"], event["message"])
        self.assertIn("its limit of 32.0 MiB was used up", event["message"])
        self.wait_value(witness, 1, "kubernetes_events_total", result="posted")

    def test_forbidden_is_counted_and_not_repeated(self):
        self.api.post_answers = [(403, ())] * 5
        witness = self.started("post_events = true\n")
        self.kill()
        self.kill()
        self.wait_value(witness, 1, "kubernetes_events_total", result="forbidden")
        time.sleep(2)
        self.assertEqual(self.api.count("POST"), 1)
        ok, detail = self.doctor()
        self.assertFalse(ok)
        self.assertIn("1 dead-lettered", detail)
        self.assertIn("forbidden", detail)

    def doctor(self):
        """(ok, detail) of what it says about Events."""
        config = os.path.join(self.scratch, "doctor.toml")
        fileio.write(config, self.api.config("post_events = true\n"))
        done = run_cli("doctor", "--json", "--config", config, "--data-dir", self.data_dir())
        found, = (c for c in json.loads(done.stdout)["checks"] if c["name"] == "sink_kubernetes_events")
        return found["ok"], found["detail"]

    def test_rate_limited_comes_again_when_the_server_asks(self):
        self.api.post_answers = [(429, [("Retry-After", "3")])]
        witness = self.started("post_events = true\n")
        self.kill()
        eventually(lambda: self.api.count("POST") == 1, "the first try")
        refused = time.monotonic()
        eventually(lambda: self.api.posted, "the second try")
        self.assertGreater(time.monotonic() - refused, 2.5)
        self.wait_value(witness, 1, "kubernetes_events_total", result="posted")

    def test_an_event_outlives_the_daemon_that_could_not_post_it(self):
        self.api.post_answers = [(503, ())] * 1000
        witness = self.started("post_events = true\n")
        self.kill()
        incident = self.incident(witness)
        eventually(lambda: self.api.count("POST") > 0, "a try")
        self.api.stop()
        self.wait_value(witness, 1, "sink_failed_total", sink="kubernetes_events", reason="connect")
        ok, detail = self.doctor()
        self.assertFalse(ok)
        self.assertRegex(detail, "failing since .* connect: ")
        self.api.start()
        witness.stop(signal.SIGKILL)
        self.api.post_answers = []
        again = self.witness("post_events = true\n")
        eventually(lambda: self.api.posted, "the Event")
        self.wait_value(again, 1, "kubernetes_events_total", result="posted")
        (_, event), = self.api.posted
        self.assertIn(incident["id"], event["message"])
