# SPDX-License-Identifier: Apache-2.0
"""Pods as the Kubernetes API reports them. No cluster: a stand-in speaks the documented wire format."""
import datetime
import hashlib
import os
import signal
import time
import uuid

from harness import cgroup as cgroups
from harness import fileio, tools
from harness.api_server import ApiServer
from harness.case import MIB, E2eTest
from harness.cri import slice_of, write_bundle
from harness.text_time import unix
from harness.wait import eventually

OLD_ID = "0a2b" * 16
HOG = ("--rate-mb-s", "200")


def rfc3339(seconds):
    return datetime.datetime.fromtimestamp(int(seconds), datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


class PodTest(E2eTest):
    """A cgroup named as the kubelet's systemd driver names it, and an API server, not started."""

    def setUp(self):
        super().setUp()
        # Its own: the daemon of one test sees the containers of another.
        self.container_id = hashlib.sha256(self.prefix.encode()).hexdigest()
        self.uid = str(uuid.uuid5(uuid.NAMESPACE_DNS, self.prefix))
        self.namespace = "pay-" + self.container_id[:8]
        node = self.cgroup("node")
        self.pod_cgroup = self.raw_cgroup(slice_of(self.uid), None, node)
        self.box = self.raw_cgroup(f"cri-containerd-{self.container_id}.scope", 32, self.pod_cgroup)
        self.api = ApiServer(self.scratch)
        self._stack.callback(self.api.stop)

    def make_pod(self, name="otelcol-7f", uid=None, container_id=None, **metadata):
        return {
            "metadata": {"name": name, "namespace": self.namespace, "uid": uid or self.uid,
                         "labels": {"app": "otelcol", "pod-template-hash": "7f9c"},
                         "annotations": {"oomwitness.io/pprof-port": "6061", "other": "x",
                                         "resource.opentelemetry.io/service.name": "gateway"},
                         "ownerReferences": [{"kind": "ReplicaSet", "name": "otelcol-7f9c", "controller": True}],
                         **metadata},
            "spec": {"nodeName": "node-1",
                     "containers": [{"name": "collector", "image": "example/otelcol:1",
                                     "resources": {"limits": {"memory": "32Mi"}}}]},
            "status": {"phase": "Running", "containerStatuses": [
                {"name": "collector", "image": "docker.io/example/otelcol:1", "restartCount": 3,
                 "containerID": f"containerd://{container_id or self.container_id}",
                 "state": {"running": {"startedAt": rfc3339(time.time())}},
                 "lastState": {"terminated": {"reason": "Error", "exitCode": 2, "finishedAt": "2026-11-20T03:04:05Z",
                                              "containerID": f"containerd://{OLD_ID}"}}}]},
        }

    def ended(self, reason, finished, container_id=None, **of_pod):
        """The kubelet's word after the end of a run: a new run, the old one in lastState."""
        pod = self.make_pod(container_id="7c7c" * 16, **of_pod)
        status = pod["status"]["containerStatuses"][0]
        status["restartCount"] += 1
        status["lastState"] = {"terminated": {"reason": reason, "exitCode": 137, "finishedAt": rfc3339(finished),
                                              "containerID": f"containerd://{container_id or self.container_id}"}}
        return pod

    def bundle(self):
        """What containerd leaves beside the container."""
        write_bundle(self.scratch, self.container_id, container_name="collector", sandbox_name="otelcol-7f",
                     sandbox_namespace=self.namespace, sandbox_uid=self.uid, image_name="example/otelcol:1")

    def witness(self, more=""):
        return self.daemon(f'host_root = "{self.scratch}"\n' + self.api.config(more))

    def started(self, more=""):
        """A daemon that knows the pods of a server that runs."""
        self.api.start()
        witness = self.witness(more)
        eventually(lambda: self.value(witness, "kubernetes_state", state="watching") == 1, "watching")
        eventually(lambda: self.value(witness, "kubernetes_pods") == min(len(self.api.pods), 2000), "pods")
        return witness

    def value(self, witness, name, **labels):
        found = [value for have, value in witness.scrape().values("oomwitness_" + name)
                 if all(have.get(key) == wanted for key, wanted in labels.items())]
        return found[0] if found else None

    def wait_value(self, witness, wanted, name, timeout=20, **labels):
        eventually(lambda: (self.value(witness, name, **labels) or 0) >= wanted,
                   lambda: f"{name} {labels} >= {wanted}: {self.value(witness, name, **labels)}", timeout)

    def counted(self, daemon):
        """By pod: the cgroup's prefix is no label here."""
        return int(sum(value for labels, value in daemon.scrape().values("oomwitness_oom_kills_total")
                       if labels["k8s_namespace_name"] == self.namespace))

    def kill(self):
        hog = self.memhog(self.box, *HOG)
        hog.wait_killed()
        return hog

    def incident(self, witness, count=1):
        return self.wait_incidents(witness, count)[-1]

    def amended(self, witness, is_there, what):
        eventually(lambda: is_there(self.incidents_of(witness)[0]),
                   lambda: f"{what}: {self.incidents_of(witness)[0]['pod']}", 60)
        return self.incidents_of(witness)[0]


class ListedPodTest(PodTest):
    """The API server has the pod."""

    def setUp(self):
        super().setUp()
        self.api.put(self.make_pod())


class Incidents(PodTest):
    def test_the_api_tells_what_no_file_on_the_node_does(self):
        self.api.put(self.make_pod())
        witness = self.started()
        self.kill()
        incident = self.incident(witness)
        self.assertEqual(incident["container"]["name"], "collector")
        self.assertEqual(incident["container"]["image"], "docker.io/example/otelcol:1")
        pod = incident["pod"]
        self.assertEqual((pod["namespace"], pod["name"], pod["uid"]), (self.namespace, "otelcol-7f", self.uid))
        self.assertEqual(pod["node"], "node-1")
        self.assertEqual(pod["labels"], {"app": "otelcol", "pod-template-hash": "7f9c"})
        self.assertEqual(pod["owner"], {"kind": "ReplicaSet", "name": "otelcol-7f9c"})
        self.assertEqual(pod["workload"], {"kind": "Deployment", "name": "otelcol", "evidence": "pod_template_hash"})
        self.assertEqual(pod["restart_count"], 3)
        self.assertEqual(pod["resource_attributes"], {"service.name": "gateway"})
        self.assertEqual(pod["memory_limit_bytes"], 32 * MIB)
        self.assertEqual(pod["last_termination"], {"reason": "Error", "exit_code": 2, "container_id": OLD_ID,
                                                   "finished_at": "2026-11-20T03:04:05.000000000Z"})
        self.assertIn(f"-{self.namespace}-otelcol-7f-collector-", incident["_dir"])

    def test_a_change_told_by_the_watch_is_known_at_the_kill(self):
        self.api.put(self.make_pod())
        witness = self.started()
        pod = self.make_pod()
        pod["status"]["containerStatuses"][0]["restartCount"] = 9
        self.api.put(pod)
        self.api.put(self.make_pod("later", uid="u2", container_id="c2"))
        self.wait_value(witness, 2, "kubernetes_pods")  # everything sent before it is known then, too
        self.kill()
        self.assertEqual(self.incident(witness)["pod"]["restart_count"], 9)
        self.assertEqual((self.api.count(limit="500"), self.api.count(watch="1")), (1, 1), "one list and one watch")

    def test_a_pod_that_wants_no_captures_has_none(self):
        self.api.put(self.make_pod(annotations={"oomwitness.io/capture": "false"}))
        witness = self.started()
        self.kill()
        incident = self.incident(witness)
        self.assertEqual({c["reason"] for c in incident["captures"]}, {"opted_out"})

    def test_a_pod_told_of_late_amends_the_incident(self):
        self.bundle()
        self.api.put(self.make_pod())
        self.api.delay_s = 2
        self.api.start()
        witness = self.witness()
        self.kill()
        self.assertIsNone(self.incident(witness)["pod"]["node"])
        incident = self.amended(witness, lambda i: i["pod"]["node"], "node")
        self.assertEqual(incident["pod"]["restart_count"], 3, "of the run it names, so it does not count this kill")
        self.assertTrue(any(note.startswith("pod.status: ") for note in incident["notes"]), incident["notes"])

    def test_a_status_of_another_run_tells_no_restarts_until_one_names_this_run(self):
        """A container killed within about a second is in no status yet, and that of the run before is not its own."""
        self.bundle()
        self.api.put(self.make_pod(container_id=OLD_ID))
        witness = self.started()
        self.kill()
        incident = self.incident(witness)
        self.assertEqual(incident["pod"]["node"], "node-1")
        self.assertEqual((incident["pod"]["restart_count"], incident["pod"]["last_termination"]), (None, None))
        self.assertEqual(incident["pod"]["memory_limit_bytes"], 32 * MIB, "the pod's spec is the same for every run")
        time.sleep(7)  # past the window in which captures and samples amend
        self.api.put(self.ended("OOMKilled", time.time()))
        incident = self.amended(witness, lambda i: i["pod"]["restart_count"] is not None, "restart_count")
        self.assertEqual(incident["pod"]["restart_count"], 3, "one less than the run after it")

    def test_pod_cgroup_and_sandbox_are_no_containers_and_have_their_names_after_a_restart(self):
        """The walk of all cgroups comes before the list of pods."""
        self.pod_cgroup.set_limit(32 * MIB)
        self.raw_cgroup(f"cri-containerd-{hashlib.sha256(b'pause' + self.prefix.encode()).hexdigest()}.scope", None,
                        self.pod_cgroup)
        self.api.put(self.make_pod())
        witness = self.started()
        mine = lambda: {labels["k8s_container_name"] for labels, _ in witness.scrape().values("oomwitness_container_memory_usage_bytes")
                        if labels["k8s_pod_name"] == "otelcol-7f" and labels["k8s_namespace_name"] == self.namespace}
        eventually(lambda: mine() == {"collector"}, lambda: f"the container alone: {mine()}")
        self.box.set_limit(-1 if cgroups.VERSION == 1 else "max")
        eventually(lambda: mine() == {"collector", ""}, lambda: f"and the pod, which alone has a limit now: {mine()}")
        nameless = [labels for labels, _ in witness.scrape().values("oomwitness_container_memory_usage_bytes")
                    if self.uid in labels["k8s_container_name"] or self.uid.replace("-", "_") in labels["k8s_container_name"]]
        self.assertEqual(nameless, [])

    def test_hostile_names_stay_data(self):
        evil = "| x | \x1b[31m<script>`id`</script>\n# title \u202e"
        name = "../../../../etc/passwd"
        annotations = {"oomwitness.io/" + evil: evil}
        self.api.put(self.make_pod(name, labels={evil: evil, "a": "b" * 5000}, annotations=annotations))
        witness = self.started()
        self.kill()
        incident = self.incident(witness)
        self.assertEqual(incident["pod"]["name"], name)
        self.assertIn(evil, incident["pod"]["labels"])
        directory = os.path.basename(incident["_dir"])
        self.assertTrue(directory.isascii() and "/" not in directory and ".." not in directory.split("-"), directory)
        report = fileio.read(os.path.join(incident["_dir"], "report.md"))
        self.assertFalse(set(report) & set("\x1b\u202e") or "\n# title" in report or "<script>" in report)
        if tools.find_program("promtool"):
            self.assertEqual(tools.promtool_check(witness.scrape().text), (0, ""))


class Annotations(PodTest):
    PORT = 6061  # none that is asked without being named

    def captures_of_a_leak(self, annotations, more=""):
        """{(method, result, reason)} and their notes."""
        self.box.set_limit(96 * MIB)
        self.api.put(self.make_pod(annotations={"oomwitness.io/" + key: value for key, value in annotations.items()}))
        witness = self.started(more)
        self.leaky_go(self.box, "-listen", f"127.0.0.1:{self.PORT}", "-prefill-mb", "60", "-rate", "12").wait_killed()
        self.incident(witness)
        tried = lambda: [c for c in self.incidents_of(witness)[0]["captures"] if c["method"] != "at_kill"]
        captures = eventually(tried, "captures of the way up")
        return {(c["method"], c["result"], c["reason"]) for c in captures}, " ".join(c["detail"] or "" for c in captures)

    def test_the_port_that_a_pod_names_is_asked_and_it_has_opted_in(self):
        captures, said = self.captures_of_a_leak({"pprof-port": str(self.PORT), "capture": "true"}, "capture_opt_in = true\n")
        self.assertIn(("http", "ok", ""), captures, said)
        self.assertIn(f"http://127.0.0.1:{self.PORT}/debug/pprof/heap", said)

    def test_a_port_that_is_none_changes_nothing(self):
        captures, said = self.captures_of_a_leak({"pprof-port": f"{self.PORT}/../../x"})
        self.assertIn(("http", "failed", "no_endpoint"), captures, said)
        self.assertIn("no listener on port 1777, 6060", said)

    def test_with_opt_in_a_pod_that_says_nothing_is_left_alone(self):
        captures, said = self.captures_of_a_leak({"pprof-port": str(self.PORT)}, "capture_opt_in = true\n")
        self.assertLessEqual({(method, "skipped", "not_opted_in") for method in ("live", "http")}, captures, said)
        self.assertNotIn("ok", {result for _, result, _ in captures})


class Absence(PodTest):
    def test_names_are_there_in_time_with_the_api_dead(self):
        self.bundle()
        witness = self.witness()
        delays = []
        for number in range(1, 11):
            self.kill()
            incident = self.incident(witness, number)
            self.assertEqual(incident["pod"]["name"], "otelcol-7f")
            written = os.stat(os.path.join(incident["_dir"], "incident.json"))
            killed = unix(incident["time"])
            delays.append(written.st_mtime - killed)
        print(f"from kill to incident with the API dead, ms: {[round(d * 1e3, 1) for d in sorted(delays)]}")
        self.assertGreater(self.value(witness, "kubernetes_errors_total", kind="connect"), 0)

    def test_a_server_that_comes_later_is_found_and_one_that_goes_is_missed(self):
        self.bundle()
        self.api.put(self.make_pod())
        witness = self.witness()
        self.wait_value(witness, 1, "kubernetes_errors_total", kind="connect")
        self.api.start()
        self.wait_value(witness, 1, "kubernetes_pods")
        self.api.stop()
        self.wait_value(witness, 1, "kubernetes_state", state="waiting")
        self.kill()
        self.assertEqual(self.incident(witness)["pod"]["node"], "node-1", "what was told before still holds")

    def test_it_stops_in_the_middle_of_a_watch(self):
        witness = self.started()
        begun = time.monotonic()
        self.assertEqual(witness.stop(signal.SIGTERM), 0)
        self.assertLess(time.monotonic() - begun, 10)


class Disagreements(ListedPodTest):
    def disagreements(self, witness, kind):
        return self.value(witness, "kubernetes_disagreements_total", kind=kind)

    def assert_counted_once(self, witness, kind):
        """Incident, log and /metrics report it in any order."""
        self.wait_value(witness, 1, "kubernetes_disagreements_total", kind=kind)
        self.assertEqual(self.disagreements(witness, kind), 1)

    def test_a_kill_under_another_reason_is_in_the_incident(self):
        witness = self.started()
        self.kill()
        self.incident(witness)
        self.api.put(self.ended("Error", time.time()))
        incident = self.amended(witness, lambda i: "disagreement" in i["pod"], "disagreement")
        self.assertEqual(incident["pod"]["disagreement"]["kind"], "kill_with_other_reason")
        self.assert_counted_once(witness, "kill_with_other_reason")

    def test_a_kill_that_status_tells_of_is_none(self):
        witness = self.started()
        self.kill()
        self.incident(witness)
        self.api.put(self.ended("OOMKilled", time.time()))
        time.sleep(3)
        self.assertEqual(sum(v for _, v in witness.scrape().values("oomwitness_kubernetes_disagreements_total")), 0)

    def test_a_container_that_goes_on_is_in_the_incident_and_another_oom_killed_without_a_kill_is_counted(self):
        """In one daemon, since both take their time: 35 s without a word of status, and what ended in the first 10 s is not judged."""
        innocent = {"name": "innocent", "uid": "u2", "container_id": "c2" * 32}
        self.api.put(self.make_pod(**innocent))
        witness = self.started()
        self.start(["sleep", "120"], self.box)  # its first process
        self.kill()
        self.incident(witness)
        incident = self.amended(witness, lambda i: "disagreement" in i["pod"], "disagreement")
        self.assertEqual(incident["pod"]["disagreement"]["kind"], "kill_not_in_status")
        self.assertTrue(any("goes on" in note for note in incident["notes"]))
        self.assert_counted_once(witness, "kill_not_in_status")
        self.assertEqual(self.disagreements(witness, "oom_killed_without_kill"), 0)
        self.api.put(self.ended("OOMKilled", time.time(), **innocent))
        self.assert_counted_once(witness, "oom_killed_without_kill")
        eventually(lambda: "status says OOMKilled" in witness.log(), "a line in the log")
        self.withdraw_by_late_status(witness, incident)

    def withdraw_by_late_status(self, witness, incident):
        """The status comes at last: the container had ended with the kill."""
        killed = unix(incident["time"])
        self.api.put(self.ended("OOMKilled", killed))
        incident = self.amended(witness, lambda i: "disagreement" not in i["pod"], "no disagreement")
        self.assertTrue(any(note.startswith("pod.disagreement: withdrawn: ") for note in incident["notes"]))
        self.wait_value(witness, 1, "kubernetes_disagreements_withdrawn_total", kind="kill_not_in_status")
        self.assertEqual(self.disagreements(witness, "kill_not_in_status"), 1, "a counter does not go down")
