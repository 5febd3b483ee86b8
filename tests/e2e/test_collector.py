# SPDX-License-Identifier: Apache-2.0
"""A real OpenTelemetry Collector in a real pod, its backend dead, under OTLP load until the kernel kills it.

The heap names who allocated (a receiver), the Collector's own metrics who keeps it (an exporter's queue).
"""
import os
import re
import subprocess
import sys
import time

from harness import fileio, tools
from harness.daemon import run_cli
from harness.logged_server import LoggedProgram
from harness.wait import eventually
from test_cri import CriTest

IMAGE = "localhost/otelcol:test"
LIMIT_MB = 200
EXPORTER = "otlp/backend"
LEAST_COVERAGE = 0.8
# Go's own 512 KiB would leave some 400 samples, and 5 % of chance, in what is compared with the victim's memory.
SAMPLING = {"GODEBUG": "memprofilerate=65536"}
# 2 to 3 KiB each once decoded: some 10 MiB/s.
SPANS_PER_SECOND = 5000
# Where the heap must be searched before the kill, also on a busy machine.
SLOW_SPANS_PER_SECOND = 2500

CONFIG = """
receivers:
  otlp: {{protocols: {{grpc: {{endpoint: "127.0.0.1:4317"}}, http: {{endpoint: "127.0.0.1:4318"}}}}}}
processors:
  memory_limiter: {{check_interval: 200ms, limit_mib: {limiter_mib}, spike_limit_mib: {spike_mib}}}
  batch: {{timeout: 200ms, send_batch_size: 512}}
exporters:
  otlp/backend:
    endpoint: 127.0.0.1:4999
    tls: {{insecure: true}}
    timeout: 2s
    retry_on_failure: {{enabled: true, initial_interval: 1s, max_interval: 5s, max_elapsed_time: 0s}}
    sending_queue: {{enabled: true, queue_size: 100000, num_consumers: 2}}
  otlp/second:
    endpoint: 127.0.0.1:4998
    tls: {{insecure: true}}
    sending_queue: {{enabled: true, queue_size: 1000}}
service:
  telemetry:
    logs: {{level: error}}
    metrics: {{readers: [{{pull: {{exporter: {{prometheus: {{host: 127.0.0.1, port: {metrics_port}}}}}}}}}]}}
  pipelines:
    traces: {{receivers: [otlp], processors: [memory_limiter, batch], exporters: [otlp/backend]}}
    metrics: {{receivers: [otlp], processors: [memory_limiter, batch], exporters: [otlp/second]}}
"""


# Nothing but what the heap itself shows: the Collector's own metrics are off.
HOARDING = """
receivers:
  otlp: {protocols: {http: {endpoint: "127.0.0.1:4318"}}}
processors:
  batch/hoard: {timeout: 300s, send_batch_size: 10000000}
exporters:
  otlp/backend: {endpoint: 127.0.0.1:4999, tls: {insecure: true}}
service:
  telemetry: {logs: {level: error}, metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], processors: [batch/hoard], exporters: [otlp/backend]}
"""
QUEUEING = """
receivers:
  otlp: {protocols: {http: {endpoint: "127.0.0.1:4318"}}}
processors:
  batch: {timeout: 200ms, send_batch_size: 512}
exporters:
  otlp/tempo: {endpoint: 127.0.0.1:4999, tls: {insecure: true}, timeout: 2s,
    retry_on_failure: {enabled: true, max_elapsed_time: 0s}, sending_queue: {queue_size: 100000, num_consumers: 2}}
  otlp/second: {endpoint: 127.0.0.1:4998, tls: {insecure: true}}
service:
  telemetry: {logs: {level: error}, metrics: {level: none}}
  pipelines:
    traces: {receivers: [otlp], processors: [batch], exporters: [otlp/tempo]}
    metrics: {receivers: [otlp], processors: [batch], exporters: [otlp/second]}
"""


class Sender(LoggedProgram):
    """OTLP load from inside the pod's network namespace and outside of its cgroup."""

    def __init__(self, container, port, *options, rate=SPANS_PER_SECOND):
        program = os.path.join(tools.WORKLOADS, "otlp_sender.py")
        super().__init__(["nsenter", f"--net=/proc/{container.pid}/ns/net", sys.executable, program, str(port), str(rate), *options],
                         os.path.join(container.pod.logs, "sender"))

    def counts(self):
        """(sent, refused) spans as last printed."""
        found = re.findall(r"sent (\d+) refused (\d+)", self.text())
        return tuple(map(int, found[-1])) if found else (0, 0)


class Collector(CriTest):
    def setUp(self):
        binary = tools.supplied("collector_build.sh", "1.27", "pprof")
        super().setUp()
        self.runtime.import_image(IMAGE, {"/otelcol": binary}, ["/otelcol"])

    def collector(self, limiter_mib, spike_mib=None, limit_mb=LIMIT_MB, metrics_port=8888):
        made = self.configured(CONFIG.format(limiter_mib=limiter_mib, spike_mib=spike_mib or limiter_mib // 5,
                                             metrics_port=metrics_port), limit_mb)
        eventually(lambda: self.metrics(made, metrics_port), lambda: f"the Collector's metrics; {made.describe()}", 30, 0.1)
        return made

    def configured(self, text, limit_mb=LIMIT_MB):
        config = os.path.join(self.scratch, "otelcol.yaml")
        fileio.write(config, text)
        pod = self.pod("otelcol-gateway-5d")
        return self.container(pod, "otelcol", "--config", "file:/etc/otelcol.yaml", image=IMAGE, limit_mb=limit_mb, env=SAMPLING,
                              mounts=[(config, "/etc/otelcol.yaml", True)])

    def metrics(self, container, port=8888):
        """The Collector's own, as its pod sees them."""
        return container.http_get(port, "/metrics")

    def load(self, container, port=4318, *options, rate=SPANS_PER_SECOND):
        return self.closing(Sender(container, port, *options, rate=rate))

    def incident_with_heap(self, witness, container):
        def complete():
            found = self.incidents_of(witness, container.cgroup)
            return found if found and any(c["method"] == "at_kill" for c in found[0]["captures"]) else None

        found = eventually(complete, lambda: f"an incident with a capture at the kill in {witness.data_dir}", 30)
        self.assertEqual(len(found), 1)
        return found[0]

    def kill_collector(self, *load, limit_mb=LIMIT_MB, metrics_port=8888):
        """(incident, container) of a Collector whose memory_limiter leaves room that the container has not. A second
        one is killed where the first had just collected: what Go has freed, and not given back, no profile explains.
        Of ten incidents nine had 0.91 to 0.96 of the memory explained, one 0.69."""
        witness = self.witness()
        for _ in range(2):
            incident, container = self.kill_one(witness, *load, limit_mb=limit_mb, metrics_port=metrics_port)
            if (incident["coverage"]["ratio"] or 0) >= LEAST_COVERAGE:
                break
        return incident, container

    def kill_one(self, witness, *load, limit_mb, metrics_port):
        container = self.collector(limiter_mib=1000, limit_mb=limit_mb, metrics_port=metrics_port)
        sender = self.load(container, *load)
        container.wait_oom_killed()
        sender.close()
        incident = self.incident_with_heap(witness, container)
        self.assert_names(incident, container.pod, container)
        return incident, container

    def assert_heap_is_whole(self, incident):
        capture = next(c for c in incident["captures"] if c["method"] == "at_kill")
        self.assertEqual((capture["result"], capture["complete"]), ("ok", True), capture)
        self.assertEqual(incident["coverage"]["method"], "at_kill")
        self.assertGreaterEqual(incident["coverage"]["ratio"], LEAST_COVERAGE)

    def assert_culprits(self, incident):
        found = incident["collector"]
        allocator = found["components"][0]
        self.assertEqual((allocator["kind"], allocator["id"]), ("receiver", "otlp"), found["components"])
        self.assertEqual(allocator["module"], "go.opentelemetry.io/collector/receiver/otlpreceiver")
        self.assertGreater(allocator["ratio"], 0.5, found["components"])
        keeper, idle = found["exporters"]
        self.assertEqual((keeper["id"], keeper["queue_capacity"]), (EXPORTER, 100000))
        self.assertGreater(keeper["growth"], 0)
        self.assertGreater(keeper["queue_size"], 0)
        self.assertEqual((idle["id"], idle["queue_size"]), ("otlp/second", 0))
        self.assertEqual(found["memory_limiter"], {"refused": 0})
        self.assertGreaterEqual(found["metrics"]["readings"], 2)

    def say(self, incident):
        found = incident["collector"]
        print(f"      coverage {incident['coverage']['ratio']:.2f}, components "
              f"{[(c['kind'], c['id'], round(c['ratio'], 3)) for c in found['components'][:4]]}, "
              f"exporters {[(e['id'], e['queue_size'], e['growth']) for e in found['exporters'] or []]}, "
              f"metrics {found['metrics']}", flush=True)

    def test_collector_with_a_dead_backend_names_who_allocated_and_who_keeps(self):
        incident, container = self.kill_collector()
        self.say(incident)
        self.assert_heap_is_whole(incident)
        self.assert_culprits(incident)
        self.assertRegex(self.daemons[-1].log(), rf"COLLECTOR  .*: pid {container.pid}, \d+ queued for exporter {EXPORTER}")
        shown = run_cli("show", incident["id"], "--markdown", "--data-dir", self.daemons[-1].data_dir).stdout
        for text in ("Allocated by receiver otlp", f"Kept by exporter {EXPORTER}", "memory_limiter refused nothing",
                     f"pod {container.pod.namespace}/{container.pod.name}"):
            self.assertIn(text, shown)
        self.keep(incident, shown)

    def keep(self, incident, shown):
        """OOMW_KEEP=DIRECTORY: for the README and for people who want to look."""
        if os.environ.get("OOMW_KEEP"):
            subprocess.run(["cp", "-r", incident["_dir"], os.environ["OOMW_KEEP"]], check=True)
            for name, text in (("show.txt", shown), ("run.txt", self.daemons[-1].log())):
                fileio.write(os.path.join(os.environ["OOMW_KEEP"], name), text)

    def test_collector_fed_over_grpc_whose_metrics_are_on_another_port_names_the_same(self):
        incident, _ = self.kill_collector(4317, "--grpc", limit_mb=120, metrics_port=19464)
        self.say(incident)
        self.assert_heap_is_whole(incident)
        self.assert_culprits(incident)

    def test_memory_limiter_below_the_limit_refuses_and_nothing_is_killed(self):
        witness, container = self.witness(), self.collector(limiter_mib=70, spike_mib=20)
        sender = self.load(container)
        eventually(lambda: sender.counts()[1] > 0, lambda: f"refusals; {sender.text()[-300:]}", 60, 0.2)
        time.sleep(5)  # as long as it takes to fill the rest at this rate, were nothing refused
        self.assertEqual(container.status().reason, "")
        self.assertEqual(container.cgroup.kernel_kills(), 0)
        refused = sum(float(v) for v in re.findall(r'^otelcol_processor_(?:memory_limiter_)?refused_spans\S* (\S+)$',
                                                   self.metrics(container), re.MULTILINE))
        self.assertGreater(refused, 0, self.metrics(container))
        self.assertEqual(self.incidents_of(witness), [])

    def keeper_without_metrics(self, config):
        """The incident of a Collector whose own metrics are off: its answer names who keeps the memory by the heap alone."""
        witness, container = self.witness(), self.configured(config, 160)
        eventually(lambda: self.accepts(container), "the receiver", 30, 0.1)
        sender = self.load(container, rate=SLOW_SPANS_PER_SECOND)
        container.wait_oom_killed()
        sender.close()
        incident = self.incident_with_heap(witness, container)
        answer = incident["answer"]
        self.assertEqual(answer["culprit"]["claim"], "keeps", (answer, incident.get("holders"), incident["notes"]))
        print(f"      {answer['sentence']}", flush=True)
        return answer

    @staticmethod
    def accepts(container):
        return "partialSuccess" in container.in_netns("curl", "-s", "--noproxy", "*", "-H", "Content-Type: application/json",
                                                      "-d", "{}", "http://127.0.0.1:4318/v1/traces")

    def test_a_batch_that_hoards_is_named_without_metrics(self):
        answer = self.keeper_without_metrics(HOARDING)
        self.assertIn("Kept by processor batch/hoard", answer["sentence"])
        self.assertEqual(answer["culprit"]["operation"], "processor/batch/hoard")
        self.assertIn("send_batch_size", answer["action"])

    def test_a_queue_before_a_dead_backend_is_named_without_metrics(self):
        answer = self.keeper_without_metrics(QUEUEING)
        self.assertIn("Kept by exporter otlp/tempo", answer["sentence"])
        self.assertEqual(answer["culprit"]["operation"], "exporter/otlp/tempo")
        self.assertIn("senders wait to send again", answer["sentence"])
        self.assertRegex(answer["sentence"], r"Its sending queue holds [1-9]\d* batches")
        # Nothing listens there.
        self.assertRegex(answer["sentence"], r"[1-9]\d* attempts to connect have failed in its network namespace")
        self.assertIn("mend the backend", answer["action"])
