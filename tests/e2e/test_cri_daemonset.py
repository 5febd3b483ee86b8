# SPDX-License-Identifier: Apache-2.0
"""The image of deploy/image, run as the DaemonSet runs it: in a privileged pod of the node, which it sees through its
mounts only. A neighbouring pod is killed, and the incident is on the node's disk.

Where the image can be built neither from the cache nor from a mirror, these tests are skipped.
"""
import hashlib
import os
import subprocess
import unittest

from harness import tools
from harness.daemon import free_port, read_incidents
from harness.metrics import Scrape, get
from harness.wait import eventually
from test_cri import LIMIT_MB, MIB, CriTest

IMAGE = "localhost/oomwitness:test"
BUILD = os.path.join(tools.TREE, "deploy/image/build.sh")
# The whole archive, unpacked root and all: what a node has to pull and hold.
MOST_MIB = 64


def image_archive():
    """Built once for each binary and script."""
    digest = hashlib.sha256()
    for path in (tools.BINARY, BUILD):
        with open(path, "rb") as f:
            digest.update(f.read())
    target = os.path.join(tools.CACHE, f"images/oomwitness-{digest.hexdigest()[:16]}.tar")
    if os.path.exists(target):
        return target
    os.makedirs(os.path.dirname(target), exist_ok=True)
    done = subprocess.run([BUILD, tools.BINARY, target, IMAGE], capture_output=True, text=True)
    if done.returncode == 3:
        raise unittest.SkipTest(done.stderr.strip())
    if done.returncode:
        raise AssertionError(f"build.sh: {done.stdout}{done.stderr}")
    print(f"      {done.stdout.strip()}", flush=True)
    return target


class DaemonPod:
    """oomwitness in a container, with what a Daemon has that tests ask for."""

    def __init__(self, container, data_dir, port):
        self.container, self.data_dir, self.port = container, data_dir, port
        self.process = self  # runs as long as its container

    @property
    def pid(self):
        return self.container.pid

    def poll(self):
        return None if self.container.status().exit_code == 0 and os.path.exists(f"/proc/{self.pid}") else 1

    def log(self):
        return self.container.text()

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def is_ready(self):
        if self.poll() is not None:
            raise AssertionError(f"oomwitness ended in its container: {self.container.describe()}")
        try:
            return get(self.url("/readyz"))[0] == 200
        except OSError:
            return False

    def scrape(self):
        return Scrape(get(self.url("/metrics"))[1])

    def incidents(self):
        return read_incidents(self.data_dir)


class DaemonSet(CriTest):
    # CRI's LinuxContainerSecurityContext by number.
    PRIVILEGED = {2: True}

    def setUp(self):
        super().setUp()
        self.runtime.import_archive(image_archive())

    def witness_pod(self, security, mounts=()):
        """As the manifest says: the host's pids and network, the node's root to read, a directory of it to write."""
        data = self.data_dir()
        config = os.path.join(self.scratch, "config")
        for directory in (data, config):
            os.makedirs(directory)
        with open(os.path.join(config, "oomwitness.toml"), "w", encoding="utf-8") as f:
            f.write('host_root = "/host"\n')
        port = free_port()
        pod = self.pod("oomwitness-x7k2p", is_host=True)
        container = self.container(
            pod, "oomwitness", "run", "--metrics-listen", f"127.0.0.1:{port}", image=IMAGE, limit_mb=128, security=security,
            mounts=[(self.runtime.host_root(), "/host", True), ("/sys/fs/cgroup", "/sys/fs/cgroup", True), (config, "/etc/oomwitness", True),
                    (data, "/var/lib/oomwitness", False), *mounts])
        made = DaemonPod(container, data, port)
        self.daemons.append(made)
        eventually(made.is_ready, lambda: f"readyz; log: {made.log()}", 30, 0.05)
        return made

    def test_privileged_pod_catches_a_kill_in_a_neighbouring_pod(self):
        witness = self.witness_pod(self.PRIVILEGED)
        pod = self.pod()
        container = self.leak(pod)
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

    def test_archive_is_small(self):
        self.assertLess(os.path.getsize(image_archive()) / MIB, MOST_MIB)
