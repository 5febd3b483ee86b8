# SPDX-License-Identifier: Apache-2.0
"""Containers by the paths and files that their runtimes leave; no runtime needed."""
import os
import socket
import subprocess

from harness import fileio
from harness.case import E2eTest
from harness.cri import slice_of, write_bundle
from harness.daemon import run_cli
from harness.wait import eventually

ID = "5e1f" * 16
POD_UID = "0f3c1a52-9d41-4b5e-8a2b-6d1f0c9e7a11"


class PodByItsFiles(E2eTest):
    """A cgroup named as the kubelet's systemd driver names it, and containerd's bundle of it."""

    def setUp(self):
        super().setUp()
        node = self.cgroup("node")
        pod = self.raw_cgroup(slice_of(POD_UID), None, node)
        self.box = self.raw_cgroup(f"cri-containerd-{ID}.scope", 96, pod)
        write_bundle(self.scratch, ID, container_type="container", container_name="collector", sandbox_name="otelcol-7f",
                     sandbox_namespace="payments", sandbox_uid=POD_UID, image_name="example/otelcol:1")

    def config(self):
        return f'host_root = "{self.scratch}"\n'

    def capture(self, *selector):
        config = os.path.join(self.scratch, "oomwitness.toml")
        fileio.write(config, self.config())
        target = os.path.join(self.scratch, "out.pb.gz")
        return run_cli("capture", *selector, "--config", config, "-o", target), target

    def test_incident_bears_the_pods_names(self):
        witness = self.daemon(self.config())
        self.leaky_go(self.box, "-rate", "60").wait_killed()
        incident = self.wait_incidents(witness, 1)[0]
        self.assertEqual(incident["container"]["id"], ID)
        self.assertEqual(incident["container"]["name"], "collector")
        self.assertEqual(incident["container"]["runtime"], "containerd")
        self.assertEqual(incident["container"]["image"], "example/otelcol:1")
        self.assertEqual(incident["pod"]["namespace"], "payments")
        self.assertEqual(incident["pod"]["name"], "otelcol-7f")
        self.assertEqual(incident["pod"]["uid"], POD_UID)
        self.assertIn("-payments-otelcol-7f-collector-", incident["_dir"])
        kills = {tuple(sorted(labels.items())): value
                 for labels, value in witness.scrape().values("oomwitness_oom_kills_total")}
        wanted = {"k8s_namespace_name": "payments", "k8s_pod_name": "otelcol-7f", "k8s_container_name": "collector", "scope": "container"}
        self.assertEqual(witness.scrape().node, socket.gethostname())
        self.assertEqual(kills.get(tuple(sorted(wanted.items()))), 1, kills)

    def counted(self, daemon):
        """By pod name: the cgroup's prefix is no label here."""
        return int(sum(value for labels, value in daemon.scrape().values("oomwitness_oom_kills_total")
                       if labels["k8s_pod_name"] == "otelcol-7f"))

    def check_capture(self, *selector):
        work = self.leaky_go(self.box, "-rate", "200", "-limit-mb", "20")
        work.wait_running()
        self.wait_for_endpoint(work)
        done, target = self.capture(*selector)
        self.assertEqual(done.returncode, 0, done)
        self.assertIn(f"pid {work.pid}", done.stdout)
        top = subprocess.run(["go", "tool", "pprof", "-top", target], capture_output=True, text=True, check=True)
        self.assertIn("inuse_space", top.stdout)

    def wait_for_endpoint(self, work):
        def listens():
            return any(" 0100007F:06F1 " in line for line in fileio.lines(f"/proc/{work.pid}/net/tcp"))  # 127.0.0.1:1777

        eventually(listens, "the service listens on 127.0.0.1:1777")

    def test_capture_by_container_id(self):
        self.check_capture("--container", ID[:12])

    def test_capture_by_pod_name(self):
        self.check_capture("--pod", "payments/otelcol-7f")

    def test_trend_holders_and_goroutines_by_container_id_and_by_pod_name(self):
        work = self.leaky_go(self.box, "-rate", "200", "-limit-mb", "20")
        work.wait_output("limit reached")
        config = os.path.join(self.scratch, "oomwitness.toml")
        fileio.write(config, self.config())
        for selector in (("--container", ID[:12]), ("--pod", "payments/otelcol-7f")):
            done = run_cli("trend", *selector, "--config", config, "--count", 2, "--interval", 0.1, status=0)
            self.assertIn("call sites", done.stdout)
            done = run_cli("holders", *selector, "--config", config, status=0)
            self.assertRegex(done.stdout, r"leakyCache|main\.")
            done = run_cli("goroutines", *selector, "--config", config, status=0)
            self.assertRegex(done.stdout, r"^\d+ goroutines")

    def test_capture_of_an_unknown_pod_says_so(self):
        done, _ = self.capture("--pod", "payments/nobody")
        self.assertEqual(done.returncode, 1)
        self.assertIn("payments/nobody", done.stderr)
