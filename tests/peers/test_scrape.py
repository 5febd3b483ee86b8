# SPDX-License-Identifier: Apache-2.0
"""/metrics as others see it: a real Prometheus, and promtool."""
import contextlib
import json
import os
import socket
import urllib.parse

from harness import fileio, tools
from harness.case import E2eTest
from harness.daemon import free_port
from harness.logged_server import LoggedProgram
from harness.metrics import get
from harness.wait import eventually

# design.md's contract; bpf_program_run_seconds_total only with programs loaded.
FAMILIES = """oom_kills_total captures_total capture_duration_seconds capture_lead_seconds
container_memory_usage_bytes container_memory_limit_bytes container_memory_nonreclaimable_bytes
container_memory_growth_bytes_per_second container_seconds_to_limit
container_reclaim_stall_seconds_total container_reclaim_calls_total container_reclaim_zero_yield_calls_total
events_lost_total bpf_program_run_seconds_total feature_rung build_info""".split()


class Scraping(E2eTest):
    def start_prometheus(self, target_port):
        prometheus = tools.needed("prometheus")
        config = os.path.join(self.scratch, "prometheus.yml")
        fileio.write(config, "global: {scrape_interval: 1s}\nscrape_configs:\n- job_name: oomwitness\n"
                             f"  static_configs: [{{targets: ['127.0.0.1:{target_port}']}}]\n")
        port = free_port()
        self.closing(LoggedProgram([prometheus, f"--config.file={config}", f"--storage.tsdb.path={self.scratch}/tsdb",
                                    f"--web.listen-address=127.0.0.1:{port}"], os.path.join(self.scratch, "prometheus.log")))
        return port

    def test_real_prometheus_scrapes_the_kill(self):
        witness, box = self.daemon(), self.cgroup("scraped", 64)
        port = self.start_prometheus(witness.port)
        query = urllib.parse.quote(f'oomwitness_oom_kills_total{{k8s_container_name="{box.name}",scope="container"}}')

        def value():
            try:
                status, body = get(f"http://127.0.0.1:{port}/api/v1/query?query={query}")
            except OSError:
                return None
            result = json.loads(body)["data"]["result"] if status == 200 else []
            return float(result[0]["value"][1]) if result else None

        self.leaky_go(box, "-rate", "100").wait_killed()
        eventually(lambda: value() == 1, lambda: f"Prometheus knows 1 kill, says {value()}")

    def test_metrics_pass_promtool_and_hold_every_family(self):
        witness, box = self.daemon(), self.cgroup("metrics", 64)
        self.leaky_go(box, "-rate", "100").wait_killed()
        self.wait_counted(witness, 1)
        scrape = witness.scrape()
        self.assertEqual({"oomwitness_" + f for f in FAMILIES} - scrape.families(), set())
        for labels, _ in scrape.values("oomwitness_oom_kills_total"):
            self.assertEqual(set(labels), {"k8s_namespace_name", "k8s_pod_name", "k8s_container_name", "scope"})
        self.assertNotIn("process_memory_usage_bytes", scrape.families())
        self.assert_promtool_accepts(scrape)

    def assert_promtool_accepts(self, scrape):
        self.assertEqual(tools.promtool_check(scrape.text), (0, ""))

    def test_processes_of_a_container_near_its_limit_are_shown_on_request_until_they_end(self):
        witness = self.daemon("[metrics]\nprocesses = true\n")
        near, idle = self.cgroup("near", 64), self.cgroup("idle", 64)
        hog, other = self.memhog(near, "--hold-mb", "56"), self.memhog(idle, "--hold-mb", "8")

        def shown(scrape, name, process):
            return scrape.values(f"process_memory_{name}_bytes", k8s_container_name=process.cgroup.name, process_pid=str(process.pid),
                                 process_executable_name="memhog", k8s_namespace_name="", k8s_pod_name="")

        def whole():
            """It may have been read while it still filled its memory."""
            scrape = witness.scrape()
            return scrape if any(value >= 56 << 20 for _, value in shown(scrape, "usage", hog)) else None

        scrape = eventually(whole, lambda: f"{hog.pid}: {witness.scrape().text[-3000:]}")
        (_, resident), = shown(scrape, "usage", hog)
        (_, everything), = shown(scrape, "virtual", hog)
        self.assertGreaterEqual(everything, resident)
        self.assertEqual(shown(scrape, "usage", other), [])
        self.assertEqual({labels["what"] for labels, _ in scrape.values("oomwitness_processes_left_out")}, {"container", "process"})
        hog.close()
        eventually(lambda: not shown(witness.scrape(), "usage", hog), "its series end with it")
        self.assert_promtool_accepts(scrape)

    def test_health_answers_and_other_paths_do_not(self):
        witness = self.daemon()
        self.assertEqual(get(witness.url("/healthz"))[0], 200)
        self.assertEqual(get(witness.url("/readyz"))[0], 200)
        self.assertEqual(get(witness.url("/debug/pprof/heap"))[0], 404)
        self.assertEqual(get(witness.url("/../etc/passwd"))[0], 404)

    def test_health_answers_beside_peers_that_send_nothing(self):
        """Eight of them took both threads of an earlier server, and six failed probes restart the pod."""
        witness = self.daemon()
        with contextlib.ExitStack() as peers:
            for _ in range(100):
                peers.enter_context(socket.create_connection(("127.0.0.1", witness.port)))
            self.assertEqual(get(witness.url("/healthz"))[0], 200)
            self.assertIn("oomwitness_core_stall_seconds", witness.scrape().families())
            self.assertGreater(witness.scrape().sum("oomwitness_http_connections_cut_total"), 0)
