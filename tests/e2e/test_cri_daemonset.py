# SPDX-License-Identifier: Apache-2.0
"""The image of deploy/image, run by the DaemonSet's manifests: in a pod of the node, which it sees through its
mounts only. A neighbouring pod is killed, and the incident is on the node's disk.

Where the image can be built neither from the cache nor from a mirror, these tests are skipped.
"""
import io
import json
import os
import subprocess
import tarfile
import tempfile
import unittest

from harness import fileio, image, tools
from harness.daemon import read_incidents
from harness.manifest import DaemonSet
from harness.metrics import Scrape
from harness.wait import eventually
from test_cri import LIMIT_MB, MIB, CriTest

IMAGE = "localhost/oomwitness:test"
# The whole archive, unpacked root and all: what a node has to pull and hold.
MOST_MIB = 64
METRICS_PORT = 9435


def image_archive():
    return image.oomwitness_archive(IMAGE)


class DaemonPod:
    """oomwitness in a container, with what tests ask of a Daemon."""

    def __init__(self, container, data_dir):
        self.container, self.data_dir = container, data_dir
        self.process = self  # runs as long as its container

    @property
    def pid(self):
        return self.container.pid

    def poll(self):
        """None while it runs."""
        return None if os.path.exists(f"/proc/{self.pid}/ns/net") else 1

    def log(self):
        return self.container.text()

    def is_ready(self):
        if self.poll() is not None:
            raise AssertionError(f"oomwitness ended in its container: {self.container.describe()}")
        return self.container.http_get(METRICS_PORT, "/readyz")

    def scrape(self):
        return Scrape(self.container.http_get(METRICS_PORT, "/metrics"))

    def incidents(self):
        return read_incidents(self.data_dir)


class CriDaemonSet(CriTest):
    def setUp(self):
        super().setUp()
        self.runtime.import_archive(image_archive())

    def path_on_node(self, path):
        """Of a hostPath: the kernel's file systems are this machine's, all else lies below the test's folder."""
        if path.startswith("/sys"):
            return path
        there = self.data_dir() if path == "/var/lib/oomwitness" else self.runtime.host_root() + path
        os.makedirs(there, exist_ok=True)
        return there

    def write_config(self, files):
        folder = os.path.join(self.scratch, "config")
        os.makedirs(folder)
        for name, text in files.items():
            fileio.write(os.path.join(folder, name), text)
        return folder

    def witness_pod(self, overlay):
        wanted = DaemonSet(overlay)
        pod = self.pod("oomwitness-x7k2p", host_pid=wanted.host_pid, privileged=wanted.privileged)
        container = self.container(pod, "oomwitness", *wanted.args, image=IMAGE, limit_mb=wanted.limit_mb,
                                   security=wanted.security(), mounts=wanted.mounts(self.path_on_node, self.write_config))
        made = DaemonPod(container, self.data_dir())
        self.daemons.append(made)
        eventually(made.is_ready, lambda: f"readyz; log: {made.log()}", 30, 0.05)
        return made

    def assert_catches_a_kill(self, overlay):
        witness, pod = self.witness_pod(overlay), self.pod()
        container = self.leak(pod, rate=20)  # one second from 80 % to the kill, for all three methods
        container.wait_oom_killed()
        eventually(lambda: [i for i in self.incidents_of(witness, container.cgroup)
                            if any(c["method"] == "at_kill" for c in i["captures"])],
                   lambda: f"an incident with its heap; log: {witness.log()[-3000:]}", 30)
        incident = self.only_incident(witness, container)
        self.assert_names(incident, pod, container)
        self.assertEqual((incident["scope"], incident["limit"]["bytes"]), ("container", LIMIT_MB * MIB))
        self.assertEqual([v["pid"] for v in incident["victims"]], [container.pid])
        whole = {c["method"] for c in incident["captures"] if c["result"] == "ok" and c["complete"]}
        self.assertEqual(whole, {"at_kill", "live", "http"}, incident["captures"])
        self.assertGreaterEqual(incident["coverage"]["ratio"], 0.85)
        print(f"      {overlay}: coverage {incident['coverage']['ratio']:.2f}, "
              f"{witness.container.cgroup.usage() >> 20} of {witness.container.cgroup.limit_bytes >> 20} MiB used", flush=True)

    def test_privileged_pod_catches_a_kill_in_a_neighbouring_pod(self):
        self.assert_catches_a_kill("privileged")

    def test_pod_of_least_capability_catches_a_kill_in_a_neighbouring_pod(self):
        self.assert_catches_a_kill("least-capability")


class Image(unittest.TestCase):
    def config(self):
        with tarfile.open(image_archive()) as archive:
            return json.load(archive.extractfile("./config.json"))["config"]

    def test_kubectl_cp_finds_the_tar_that_it_starts_and_there_is_no_shell(self):
        """Nothing else leads files out of a pod whose root is read-only: `kubectl cp` runs `tar cf - PATH` in it."""
        if os.geteuid() != 0:
            self.skipTest("chroot is root's")
        with tempfile.TemporaryDirectory() as root:
            with tarfile.open(image_archive()) as archive, tarfile.open(fileobj=archive.extractfile("./layer.tar")) as layer:
                layer.extractall(root)
            path = os.path.join(root, "var/lib/oomwitness/incident.json")
            fileio.write(path, "{}")
            done = subprocess.run(["chroot", root, "/usr/bin/tar", "cf", "-", "/var/lib/oomwitness"], capture_output=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            with tarfile.open(fileobj=io.BytesIO(done.stdout)) as copied:
                self.assertIn("var/lib/oomwitness/incident.json", copied.getnames())
            self.assertEqual(sorted(os.listdir(os.path.join(root, "usr/bin"))), ["oomwitness", "tar"])
            self.assertFalse(os.path.exists(os.path.join(root, "bin/sh")))

    def test_archive_is_small(self):
        self.assertLess(os.path.getsize(image_archive()) / MIB, MOST_MIB)

    def test_archive_says_what_the_dockerfile_says(self):
        with open(os.path.join(tools.TREE, "deploy/image/Dockerfile"), encoding="utf-8") as f:
            lines = [line.strip().split(" ", 1) for line in f.read().split("FROM scratch")[1].splitlines() if " " in line]
        said = {word: value for word, value in lines}
        config = self.config()
        self.assertEqual(config["Entrypoint"], json.loads(said["ENTRYPOINT"]))
        self.assertEqual(config["Cmd"], json.loads(said["CMD"]))
        self.assertEqual((config["User"], config["Env"]), (said["USER"], [said["ENV"]]))
        self.assertEqual((list(config["ExposedPorts"]), list(config["Volumes"])), ([said["EXPOSE"]], [said["VOLUME"]]))
        labels = dict(value.split("=", 1) for word, value in lines if word == "LABEL")
        self.assertEqual({k: json.dumps(v) for k, v in config["Labels"].items()}, labels)
