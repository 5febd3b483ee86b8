# SPDX-License-Identifier: Apache-2.0
"""A real OpenTelemetry Collector receives what leaves the node, and prints it: every field of the mapping, and nothing else."""
import datetime
import json
import os
import re
import time
import urllib.request

from harness import fileio
from harness.daemon import free_port
from harness.otel_collector import OtelCollector
from harness.wait import eventually
from test_pyroscope import ProfileTest, heap
from test_sinks import FIXTURE, SinkTest

CONTAINER_ID = "a" * 64
# What a pod's incident has beside what the stored one of a plain cgroup has.
POD = {
    "namespace": "shop", "name": "web-7f9c-x", "uid": "9f3d", "node": "n1", "labels": {"app.kubernetes.io/instance": "shop-web"},
    "restart_count": 3,
    "last_termination": {"reason": "OOMKilled", "exit_code": 137, "finished_at": None, "container_id": CONTAINER_ID},
    "owner": {"kind": "ReplicaSet", "name": "web-7f9c"},
    "workload": {"kind": "Deployment", "name": "web", "evidence": "pod_template_hash"},
    "disagreement": {"kind": "kill_not_in_status", "text": "the status says nothing of it"},
    "resource_attributes": {"service.name": "checkout", "deployment.environment.name": "prod", "k8s.pod.name": "another"},
}
ANSWER = {
    "sentence": "Leak in web: Cache.Put.", "cause": "leak", "confidence": 0.8, "action": "Bound the cache.",
    "culprit": {"claim": "allocates", "code": "main.(*Cache).Put (cache.go:44)", "path": [], "operation_kind": "http",
                "operation": "GET /items", "share": 0.75, "bytes": 63, "evidence": None},
}
VERDICT = {"cause": "leak", "confidence": 0.8, "why": ["it grew", "and \"grew\""], "suggested_limit_bytes": 1 << 30,
           "suggested_limit_is_lower_bound": False, "suggested_limit_why": "why", "also": []}
COLLECTOR = {
    "components": [{"kind": "receiver", "id": "otlp", "module": "m", "held_bytes": 10, "ratio": 0.5}], "components_file": None,
    "exporters": [{"id": "otlp/backend", "queue_size": 139, "queue_capacity": 1000, "growth": 100}],
    "memory_limiter": None, "receivers": None,
    "metrics": {"time": "2026-11-21T04:40:40.613252017Z", "lead_seconds": 0.1, "readings": 2, "span_seconds": 1.0},
}
RESOURCE = {
    "service.name": "Str(checkout)", "service.namespace": "Str(shop)", "service.instance.id": "Str(shop.web-7f9c-x.web)",
    "service.version": "Str(1.2@sha256:beef)", "deployment.environment.name": "Str(prod)",
    "k8s.cluster.name": "Str(prod)", "k8s.node.name": "Str(n1)", "k8s.namespace.name": "Str(shop)",
    "k8s.pod.name": "Str(web-7f9c-x)", "k8s.pod.uid": "Str(9f3d)", "k8s.container.name": "Str(web)",
    "k8s.container.restart_count": "Int(3)", "k8s.deployment.name": "Str(web)", "k8s.replicaset.name": "Str(web-7f9c)",
    "container.id": f"Str({CONTAINER_ID})", "container.name": "Str(web)", "container.runtime.name": "Str(containerd)",
    "container.image.name": "Str(registry:5000/shop/web)", "container.image.tags": 'Slice(["1.2"])',
    "container.image.repo_digests": 'Slice(["registry:5000/shop/web@sha256:beef"])',
}
ATTRIBUTES = {
    "error.type": "Str(oom_kill)", "k8s.container.status.reason": "Str(OOMKilled)",
    "process.pid": "Int(30240)", "process.executable.name": "Str(leaky-go)",
    "process.executable.path": "Str(/opt/test/workloads/leaky-go)",
    "process.creation.time": "Str(2026-11-21T04:40:38.656670127Z)", "process.user.id": "Int(0)",
    "process.linux.cgroup": "Str(/test-leak)", "process.runtime.name": "Str(go)",
    "process.command_line": "Str(/opt/test/workloads/leaky-go -rate 60)",
    "oomwitness.incident.revision": "Int(1)", "oomwitness.scope": "Str(container)", "oomwitness.victim.count": "Int(1)",
    "oomwitness.victim.is_init": "Bool(true)",
    "oomwitness.limit": "Int(134217728)", "oomwitness.limit.owner": "Str(/test-leak)", "oomwitness.usage": "Int(134217728)",
    "oomwitness.rss.anon": "Int(133562368)", "oomwitness.rss.file": "Int(5824512)", "oomwitness.rss.shmem": "Int(0)",
    "oomwitness.rss.pgtables": "Int(413696)",
    "oomwitness.verdict.cause": "Str(leak)", "oomwitness.verdict.confidence": "Double(0.8)",
    "oomwitness.verdict.why": 'Slice(["it grew","and \\"grew\\""])', "oomwitness.verdict.suggested_limit": "Int(1073741824)",
    "oomwitness.verdict.culprit": "Str(main.(*Cache).Put (cache.go:44))", "oomwitness.answer.action": "Str(Bound the cache.)",
    "oomwitness.culprit.claim": "Str(allocates)", "oomwitness.culprit.operation": "Str(GET /items)",
    "oomwitness.culprit.share": "Double(0.75)", "oomwitness.culprit.bytes": "Int(63)",
    "oomwitness.heap.method": "Str(http)", "oomwitness.heap.inuse": "Int(33431066)",
    "oomwitness.heap.coverage": "Double(0.2503030344595268)",
    "oomwitness.collector.receiver": "Str(otlp)", "oomwitness.collector.exporter": "Str(otlp/backend)",
    "oomwitness.collector.queue_size": "Int(139)", "oomwitness.reclaim.stall_seconds": "Double(0.003786792)",
    "oomwitness.trigger.pid": "Int(30240)", "oomwitness.trigger.comm": "Str(leaky-go)",
    "oomwitness.trigger.same_cgroup": "Bool(true)", "oomwitness.disagreement": "Str(kill_not_in_status)",
}


def timestamp(text):
    """"2026-11-21 04:40:40.699924621 +0000 UTC" as incident.json has it; Go leaves out zeros at the end."""
    day, clock, *_ = text.split()
    whole, _, fraction = clock.partition(".")
    return f"{day}T{whole}.{fraction:0<9}Z"


class RealCollector(SinkTest):
    def seed_whole(self):
        """An incident that has everything that the mapping knows of: (id, time, directory)."""
        incident = fileio.read_json(FIXTURE)
        at = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=60)
        incident["id"], incident["time"] = f"{at:%Y%m%dT%H%M%SZ}-00000001", f"{at:%Y-%m-%dT%H:%M:%S}.000000001Z"
        incident["container"].update(id=CONTAINER_ID, name="web", runtime="containerd", image="registry:5000/shop/web:1.2@sha256:beef")
        incident.update(pod=POD, answer=ANSWER, verdict=VERDICT, collector=COLLECTOR)
        incident["victims"][0]["is_init"] = True
        for capture in incident["captures"]:
            capture["of"] = "go"
        folder = os.path.join(self.data_dir(), "incidents", f"{at:%Y%m%dT%H%M%SZ}-seeded-00000001")
        os.makedirs(folder, 0o700)
        fileio.write_json(os.path.join(folder, "incident.json"), incident)
        return incident["id"], incident["time"], folder

    def record_of(self, collector, incident_id):
        wanted = f"Str({incident_id})"
        return eventually(lambda: next((r for r in collector.logs() if r.attributes.get("oomwitness.incident.id") == wanted), None),
                          lambda: f"a record of {incident_id}; {collector.text()[-3000:]}; {self.daemons[-1].log()[-2000:]}")

    def test_every_field_of_the_mapping_arrives_and_a_kill_with_what_its_incident_says(self):
        collector = self.closing(OtelCollector(self.scratch))
        whole, time, folder = self.seed_whole()
        witness = self.daemon(f'[sinks]\ncluster_name = "prod"\n'
                              + self.otlp(collector.url, "command_line = true\nservice_from_labels = true\n")
                              + f'[sinks.s3]\nbucket = "evidence"\nprefix = "oom"\nregion = "r"\n'
                                f'endpoint = "http://127.0.0.1:{collector.port}"\n')
        self.assert_whole(self.record_of(collector, whole), whole, time, folder)
        hog = self.memhog(self.cgroup("received", 32), "--rate-mb-s", "200")
        hog.wait_killed()
        incident, = self.wait_incidents(witness, 1)
        self.assert_kill(self.record_of(collector, incident["id"]), incident, hog)

    def assert_whole(self, record, incident_id, time, folder):
        day = f"{incident_id[:4]}-{incident_id[4:6]}-{incident_id[6:8]}"
        self.assertEqual(record.resource, RESOURCE)
        self.assertEqual(record.attributes, ATTRIBUTES | {
            "oomwitness.incident.id": f"Str({incident_id})", "oomwitness.incident.directory": f"Str({folder})",
            "oomwitness.artifacts.url": f"Str(s3://evidence/oom/prod/{day}/{incident_id}/)"})
        self.assertEqual(timestamp(record.fields["Timestamp"]), time)
        self.assertGreater(timestamp(record.fields["ObservedTimestamp"]), time)
        self.assertEqual((record.fields["EventName"], record.fields["SeverityNumber"], record.fields["SeverityText"]),
                         ("oomwitness.oom_kill", "Error(17)", ""))
        self.assertEqual(record.fields["Body"], "Str(OOM kill of leaky-go in shop/web-7f9c-x/web on node n1, limit 128 MiB: "
                                                "Leak in web: Cache.Put.)")
        self.assertRegex(record.scope, r"^oomwitness \d+\.\d+")

    def assert_kill(self, record, incident, hog):
        """Whatever the first writing and a later one have in common."""
        victim, = incident["victims"]
        shown = record.attributes
        self.assertEqual(shown["process.pid"], f"Int({hog.pid})")
        self.assertEqual(shown["process.executable.name"], "Str(memhog)")
        self.assertEqual(shown["process.creation.time"], f"Str({victim['start_time']})")
        self.assertEqual(shown["process.linux.cgroup"], f"Str({victim['cgroup_path']})")
        self.assertEqual(shown["oomwitness.limit"], f"Int({32 << 20})")
        self.assertEqual(shown["oomwitness.rss.anon"], f"Int({victim['rss']['anon_bytes']})")
        self.assertEqual(shown["oomwitness.scope"], "Str(container)")
        self.assertEqual(shown["oomwitness.victim.is_init"], "Bool(false)")
        self.assertEqual(timestamp(record.fields["Timestamp"]), incident["time"])
        self.assertEqual(record.resource["k8s.cluster.name"], "Str(prod)")
        self.assertEqual(record.resource["host.name"], f"Str({os.uname().nodename})")
        self.assertNotIn("k8s.pod.name", record.resource)
        self.assertNotIn("oomwitness.collector.receiver", shown)


class RealCollectorMetrics(SinkTest):
    LIMIT = 64 << 20

    def newest(self, collector, box):
        """{(name, pid or None): the newest point} of one cgroup, once there are points of processes."""
        points = [p for p in collector.points() if p.resource.get("oomwitness.cgroup") == f"Str({box.path})"]
        found = {(p.metric["Name"], p.attributes.get("process.pid")): p for p in points}
        return found if any(name == "process.memory.virtual" for name, _ in found) else None

    def test_memory_of_a_container_near_its_limit_arrives_with_its_processes(self):
        collector = self.closing(OtelCollector(self.scratch))
        witness = self.daemon("[sinks]\ncluster_name = \"prod\"\n"
                              + self.otlp(collector.url, "metrics = true\nmetrics_interval_seconds = 1\n"))
        box = self.cgroup("near", self.LIMIT >> 20)
        hog = self.memhog(box, "--hold-mb", "56")
        found = eventually(lambda: self.newest(collector, box),
                           lambda: f"metrics of {box.path}; {collector.text()[-3000:]}; {witness.log()[-2000:]}")
        self.assert_container(found)
        self.assert_processes(found, hog)
        eventually(lambda: witness.scrape().sum("oomwitness_otlp_metric_requests_total", result="sent") >= 1,
                   lambda: f"a request that is counted; {witness.scrape().text[-2000:]}")
        scrape = witness.scrape()
        self.assertEqual({labels["what"] for labels, _ in scrape.values("oomwitness_otlp_metric_dropped_total")},
                         {"container", "process", "report"})

    def assert_container(self, found):
        usage, limit = found["container.memory.usage", None], found["oomwitness.memory.limit", None]
        kept = found["oomwitness.memory.nonreclaimable", None]
        self.assertEqual((usage.metric["Unit"], usage.metric["DataType"], usage.metric["IsMonotonic"],
                          usage.metric["AggregationTemporality"]), ("By", "Sum", "false", "Cumulative"))
        self.assertGreaterEqual(int(usage.fields["Value"]), self.LIMIT * 0.8)
        self.assertEqual((usage.resource["k8s.cluster.name"], usage.resource["host.name"]),
                         ("Str(prod)", f"Str({os.uname().nodename})"))
        self.assertEqual(int(limit.fields["Value"]), self.LIMIT)
        self.assertEqual((kept.metric["DataType"], kept.metric["Unit"]), ("Gauge", "By"))
        self.assertLessEqual(int(kept.fields["Value"]), int(usage.fields["Value"]))
        self.assertRegex(usage.scope, r"^oomwitness \d+\.\d+")

    def assert_processes(self, found, hog):
        resident, everything = (found[name, f"Int({hog.pid})"] for name in ("process.memory.usage", "process.memory.virtual"))
        self.assertEqual(resident.attributes["process.executable.name"], "Str(memhog)")
        self.assertGreater(int(resident.fields["Value"]), self.LIMIT * 0.7)
        self.assertGreaterEqual(int(everything.fields["Value"]), int(resident.fields["Value"]))
        self.assertEqual((everything.metric["DataType"], everything.metric["Unit"]), ("Sum", "By"))

    def test_metrics_are_off_unless_somebody_asks_for_them(self):
        collector = self.closing(OtelCollector(self.scratch))
        witness = self.daemon(self.otlp(collector.url))
        self.assertEqual(witness.scrape().values("oomwitness_otlp_metric_requests_total"), [])


class RealCollectorEvents(SinkTest):
    """What is said before any kill."""

    def events_of(self, collector, *boxes):
        """{path: its events near the limit}: containers of other tests may have some, too."""
        found = {box.path: [] for box in boxes}
        for record in collector.logs():
            path = record.attributes.get("oomwitness.cgroup", "")[4:-1]
            if record.fields["EventName"] == "oomwitness.near_limit" and path in found:
                found[path].append(record)
        return found

    def test_a_container_near_its_limit_is_reported_and_another_is_not(self):
        collector = self.closing(OtelCollector(self.scratch))
        witness = self.daemon("[sinks]\ncluster_name = \"prod\"\n" + self.otlp(collector.url, "near_limit_seconds = 1\n"))
        near, calm = self.cgroup("near", 64), self.cgroup("calm", 64)
        self.memhog(near, "--hold-mb", "60").wait_output("ready")
        self.memhog(calm, "--hold-mb", "20").wait_output("ready")
        record, = eventually(lambda: self.events_of(collector, near)[near.path],
                             lambda: f"its event; {collector.text()[-3000:]}; {witness.log()[-2000:]}", 120)
        shown = record.attributes
        self.assertEqual(shown["oomwitness.limit"], f"Int({64 << 20})")
        self.assertEqual(record.fields["SeverityNumber"], "Warn(13)")
        self.assertEqual(record.resource["k8s.cluster.name"], "Str(prod)")
        self.assertRegex(record.fields["Body"], r"near.* was at 90 % of its limit or more for 1 s")
        share = float(re.fullmatch(r"Double\((.*)\)", shown["oomwitness.memory.held_share"])[1])
        self.assertTrue(0.9 <= share <= 1.0, share)
        self.assertGreaterEqual(int(re.fullmatch(r"Int\((.*)\)", shown["oomwitness.usage"])[1]), 0.9 * (64 << 20))
        self.assertEqual(self.events_of(collector, calm)[calm.path], [])
        eventually(lambda: witness.scrape().sum("oomwitness_memory_events_sent_total") >= 1, lambda: witness.scrape().text)


class RealCollectorProfiles(ProfileTest):
    STACKS = 200

    def test_an_incidents_profile_arrives_under_the_id_that_its_record_names(self):
        collector = self.closing(OtelCollector(self.scratch))
        profile, total = heap(self.STACKS, 5, time.time() - 60)
        incident_id = os.path.basename(self.seed_with_profile(60, profile))[:16] + "-00000000"
        witness = self.daemon("[sinks]\ncluster_name = \"prod\"\n" + self.otlp(collector.url, "profiles = true\n"))

        def record():
            return next((r for r in collector.logs() if r.attributes.get("oomwitness.incident.id") == f"Str({incident_id})"), None)

        def whole(profile_id):
            return next((p for p in collector.profiles() if p.id == profile_id and sum(p.values) == total), None)

        record = eventually(record, lambda: f"a record; {collector.text()[-3000:]}; {witness.log()[-2000:]}")
        profile_id = re.fullmatch(r'Slice\(\["([0-9a-f]{32})"\]\)', record.attributes["oomwitness.profile.ids"])[1]
        received = eventually(lambda: whole(profile_id), lambda: f"{profile_id}; {collector.text()[-3000:]}; {witness.log()[-2000:]}")
        self.assertEqual(len(received.values), self.STACKS)
        self.assertEqual(received.resource, record.resource)
        self.assertEqual(received.scope, record.scope)
        strings = {line.strip() for line in collector.text().splitlines()}
        self.assertLessEqual({"inuse_space", "bytes", "main.shared0", *(f"main.leaf{i}" for i in range(self.STACKS))}, strings)
        self.wait_value(witness, 1, "sent_total", sink="otlp_profiles")


class NobodyListens(ProfileTest):
    SIGNALS = {"otlp", "otlp_profiles", "otlp_metrics", "otlp_events"}

    def failing(self, config):
        """What `doctor` names: why, by sink."""
        checks = {c["name"].removeprefix("sink_"): c for c in json.loads(self.doctor(config, "--json"))["checks"]}
        return {name: re.search(r"failing since \S+Z: (\w+): ", c["detail"])[1] for name, c in checks.items()
                if name in self.SIGNALS and not c["ok"]}

    def test_each_signal_that_fails_is_named_by_doctor_and_on_the_health_page_until_it_works(self):
        port, web = free_port(), free_port()
        config = self.otlp(f"http://127.0.0.1:{port}", "metrics = true\nmetrics_interval_seconds = 1\nprofiles = true\n"
                                                       "near_limit_seconds = 1\n")
        self.seed_with_profile(60, heap(20, 3, time.time() - 60)[0])
        witness = self.daemon(config, args=["--web-listen", f"127.0.0.1:{web}"])
        self.memhog(self.cgroup("near", 64), "--hold-mb", "60").wait_output("ready")  # has events
        eventually(lambda: self.failing(config) == dict.fromkeys(self.SIGNALS, "connect"),
                   lambda: f"{self.doctor(config)}; {witness.log()[-2000:]}", 120, 1)

        def on_the_page():
            with urllib.request.urlopen(f"http://127.0.0.1:{web}/api/v1/health", timeout=30) as answer:
                return json.load(answer)["daemon"]["failing_sinks"]
        eventually(lambda: self.SIGNALS == set(on_the_page()), lambda: f"{on_the_page()}", 60, 1)
        self.server(port=port)
        eventually(lambda: "otlp_metrics" not in self.failing(config) and "otlp_metrics" not in on_the_page(),
                   lambda: f"{self.doctor(config)}; {witness.log()[-2000:]}", 60, 1)
        self.assertIn("sink otlp_metrics works again", witness.log())
