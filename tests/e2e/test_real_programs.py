# SPDX-License-Identifier: Apache-2.0
"""Go programs from elsewhere, driven until the kernel kills them: Debian's own builds and a real Collector.

Each is fetched or built once (tests/support/fetch_programs.sh, collector_build.sh) and skipped, with the
reason, where neither a cache nor a mirror has it.
"""
import json
import os
import time
import urllib.request

from harness import fileio, pprof, tools
from harness.daemon import free_port
from harness.go_heap import GoHeapTest
from harness.loopback_server import Handler, LoopbackServer
from harness.wait import eventually
from harness.workload import Load

KILL_DEADLINE_S = 120


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def post(url, body, content_type="application/json", method="POST"):
    request = urllib.request.Request(url, body, {"Content-Type": content_type}, method=method)
    with _opener.open(request, timeout=20) as answer:
        return answer.read()


class NewSeries(Handler):
    """A scrape target whose series are new in each scrape: every one stays in Prometheus' head block."""

    scrapes = 0
    SERIES = 20000

    def do_GET(self):
        type(self).scrapes += 1
        lines = (f'fake_total{{scrape="{self.scrapes}",series="{n}",path="/api/v1/orders/{n}/{self.scrapes}"}} {n}'
                 for n in range(self.SERIES))
        body = ("\n".join(lines) + "\n").encode()
        self.answer(200, body, "text/plain; version=0.0.4")


class RealProgramTest(GoHeapTest):
    """Starts a program, loads it until the kernel kills it, and judges what is left of its heap."""

    def run_until_killed(self, argv, limit_mb, step=None, is_up=None):
        witness = self.daemon()
        box = self.cgroup("real", limit_mb)
        work = self.start(argv, box, own_netns=False)
        if is_up:
            eventually(lambda: self.answers(is_up, work), lambda: f"{argv[0]} answers: {work.text()[-2000:]}", 30, 0.05)
        with Load(step or (lambda _: time.sleep(0.1))):
            work.wait_killed(KILL_DEADLINE_S)
        self.wait_incidents(witness, 1, box)
        return self.at_kill_of(witness, box)

    def answers(self, url, work):
        if not work.is_alive():
            raise AssertionError(f"ended with {work.process.returncode}: {work.text()[-2000:]}")
        try:
            with _opener.open(url, timeout=5):
                return True
        except OSError:
            return False

    def assert_names(self, incident, capture, prefix, least_share):
        """Complete, symbolised, and stacks with functions of `prefix` hold that share of the heap."""
        self.assertEqual((capture["result"], capture["complete"]), ("ok", True), capture)
        profile = pprof.read(os.path.join(incident["_dir"], capture["file"]))
        self.assertGreater(len(profile.samples), 5)
        self.assertEqual(profile.unnamed_share(), 0)
        own = max((size, name) for name, size in profile.cumulative().items() if name.startswith(prefix))
        anon = incident["victims"][0]["rss"]["anon_bytes"]
        print(f"      {incident['victims'][0]['comm']}: {capture['buckets']} buckets, in use {capture['inuse_bytes'] >> 20} of "
              f"{anon >> 20} MiB anon, walked in {capture['duration_seconds'] * 1e3:.2f} ms; {own[1]} {own[0] >> 20} MiB")
        # Of all such stacks: a program spreads over its entry points (etcd: gRPC, gateway, raft) as it likes.
        self.assertGreater(profile.share_of(prefix), least_share,
                           sorted(profile.cumulative().items(), key=lambda f: -f[1])[:20])
        # In use by the profile cannot be more than there was, but for what sampling adds.
        self.assertLess(capture["inuse_bytes"], 1.3 * anon)
        self.assertGreater(capture["inuse_bytes"], 0.3 * anon)


class DebianPrograms(RealProgramTest):
    def test_prometheus_with_ever_new_series(self):
        binary = tools.supplied("fetch_programs.sh", "prometheus")
        target = LoopbackServer(self, NewSeries)
        self.addCleanup(target.close)
        config = os.path.join(self.scratch, "prometheus.yml")
        fileio.write(config, "scrape_configs:\n- {job_name: fake, scrape_interval: 500ms, scrape_timeout: 500ms, "
                             f"static_configs: [{{targets: ['127.0.0.1:{target.server_port}']}}]}}\n")
        incident, capture = self.run_until_killed(
            [binary, f"--config.file={config}", f"--storage.tsdb.path={self.scratch}/tsdb",
             f"--web.listen-address=127.0.0.1:{free_port()}"], 160)
        self.assert_names(incident, capture, "github.com/prometheus/prometheus/", 0.5)

    def test_etcd_with_big_values(self):
        binary = tools.supplied("fetch_programs.sh", "etcd")
        client, peer = free_port(), free_port()
        value = "A" * 1_300_000  # base64 of 975 kB, below the 1.5 MiB that a request may have

        def put(number):
            # Eight digits are base64, too.
            post(f"http://127.0.0.1:{client}/v3/kv/put", f'{{"key": "{number:08d}", "value": "{value}"}}'.encode())

        incident, capture = self.run_until_killed(
            [binary, "--name", "one", "--data-dir", f"{self.scratch}/etcd", "--unsafe-no-fsync",
             "--listen-client-urls", f"http://127.0.0.1:{client}", "--advertise-client-urls", f"http://127.0.0.1:{client}",
             "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
             "--initial-cluster", f"one=http://127.0.0.1:{peer}"], 160, put, f"http://127.0.0.1:{client}/health")
        self.assert_names(incident, capture, "go.etcd.io/etcd/", 0.5)

    def test_caddy_with_a_growing_configuration(self):
        binary = tools.supplied("fetch_programs.sh", "caddy")
        admin, port = free_port(), free_port()
        start = {"admin": {"listen": f"127.0.0.1:{admin}"},
                 "apps": {"http": {"servers": {"s": {"listen": [f"127.0.0.1:{port}"], "routes": []}}}}}
        config = os.path.join(self.scratch, "caddy.json")
        fileio.write_json(config, start)

        def add_routes(number):
            body = f"{number}" + "x" * 10000
            routes = [{"match": [{"path": [f"/{number}/{n}"]}],
                       "handle": [{"handler": "static_response", "body": body}]} for n in range(200)]
            post(f"http://127.0.0.1:{admin}/config/apps/http/servers/s/routes/...", json.dumps(routes).encode())

        incident, capture = self.run_until_killed(
            [binary, "run", "--config", config], 160, add_routes, f"http://127.0.0.1:{admin}/config/")
        self.assert_names(incident, capture, "github.com/caddyserver/caddy/", 0.5)


COLLECTOR = """
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}
exporters:
  otlphttp:
    endpoint: http://127.0.0.1:{nowhere}
    timeout: 2s
    compression: none
    retry_on_failure: {{enabled: true, initial_interval: 1s, max_interval: 5s, max_elapsed_time: 0s}}
    sending_queue: {{enabled: true, queue_size: 100000000, num_consumers: 2}}
service:
  telemetry: {{logs: {{level: error}}, metrics: {{level: none}}}}
  pipelines: {{traces: {{receivers: [otlp], exporters: [otlphttp]}}}}
"""


def trace_request(number, spans=20, attribute_bytes=2000):
    """OTLP/HTTP JSON; every string is new."""
    text = lambda n, a: {"key": f"attribute.{a}", "value": {"stringValue": f"{number}-{n}-{a}" + "v" * attribute_bytes}}
    body = [{"traceId": f"{number + 1:032x}", "spanId": f"{n + 1:016x}", "name": f"order {number}", "kind": 2,
             "startTimeUnixNano": "1700000000000000000", "endTimeUnixNano": "1700000001000000000",
             "attributes": [text(n, a) for a in range(5)]} for n in range(spans)]
    return json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": body}]}]}).encode()


class Collector(RealProgramTest):
    def kill_collector(self, version, variant):
        binary = tools.supplied("collector_build.sh", version, variant)
        port, nowhere = free_port(), free_port()
        config = os.path.join(self.scratch, "collector.yaml")
        fileio.write(config, COLLECTOR.format(port=port, nowhere=nowhere))
        send = lambda number: post(f"http://127.0.0.1:{port}/v1/traces", trace_request(number))
        return self.run_until_killed([binary, "--config", f"file:{config}"], 160, send)

    def test_collector_by_go_1_27(self):
        self.assert_names(*self.kill_collector("1.27", "pprof"), "go.opentelemetry.io/collector/", 0.5)

    def test_collector_by_go_1_26(self):
        self.assert_names(*self.kill_collector("1.26", "pprof"), "go.opentelemetry.io/collector/", 0.5)

    def test_collector_without_profiling_says_so(self):
        _, capture = self.kill_collector("1.27", "nopprof")
        self.assertEqual((capture["result"], capture["reason"]), ("failed", "linked_out"), capture)
        self.assertIsNone(capture["file"])
