# SPDX-License-Identifier: Apache-2.0
"""deploy/kubectl/kubectl-oomwitness, with a kubectl that knows one cluster and two nodes whose pages have the API's shape.
The real API server and port-forward are in tests/cluster/test_kubectl.py."""
import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import unittest
import urllib.parse

import manifests
from harness import fileio, tools
from harness.daemon import assert_status, run_program
from harness.loopback_server import Handler, LoopbackServer

PLUGIN = os.path.join(tools.TREE, "deploy/kubectl/kubectl-oomwitness")
# Stands for kubectl: pods from a file, and ports that are open already. Each call is logged.
KUBECTL = """#!/usr/bin/env python3
import json, os, sys, time
cluster = json.load(open(os.environ["FAKE_CLUSTER"]))
args = sys.argv[1:]
with open(os.environ["FAKE_LOG"], "a") as f:
    f.write(" ".join(args) + "\\n")
if args[0] == "port-forward":
    port = cluster["ports"].get(args[3])
    if port is None:
        sys.exit("error: unable to forward port because pod is not running")
    print(f"Forwarding from 127.0.0.1:{port} -> 9436", flush=True)
    time.sleep(60)
elif args[:2] == ["get", "pod"]:
    pod = cluster["pods"].get(args[4] + "/" + args[2])
    if pod is None:
        sys.exit(f'Error from server (NotFound): pods "{args[2]}" not found')
    print(json.dumps({"spec": {"nodeName": pod}}))
elif args[:2] == ["get", "pods"]:
    node = next((a.split("=")[1] for a in args if a.startswith("spec.nodeName=")), None)
    print(json.dumps({"items": [p for p in cluster["daemons"] if node in (None, p["spec"]["nodeName"])]}))
"""
FILES = {"report.md": b"# Why\n\x1b[31mred\n", "capture-01.pb.gz": bytes(range(256)) * 300, "incident.json": b'{"id": "i"}\n'}


def archive(folder, files, kind=tarfile.REGTYPE):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, body in files.items():
            member = tarfile.TarInfo(f"{folder}/{name}")
            member.size, member.type = len(body), kind
            tar.addfile(member, io.BytesIO(body))
    return out.getvalue()


class Node(LoopbackServer):
    """The pages of one node: incidents by id -> (namespace, pod)."""

    def __init__(self, incidents, archive_of=None):
        self.incidents, self.archive_of = incidents, archive_of or (lambda i: archive(i, FILES))
        super().__init__(self, NodeHandler)

    def answer(self, path):
        if path.startswith("/api/v1/incidents?"):
            rows = [{"id": i, "time": "2026-11-21T03:04:05.000000000Z", "namespace": where[0], "pod": where[1],
                     "name": "/".join(where), "cause": "leak", "code": "main.grow (a.go:1)\x1b[2J"}
                    for i, where in sorted(self.incidents.items(), reverse=True)]
            return json.dumps({"incidents": rows}).encode()
        if path == "/api/v1/health":
            return b'{"ok": true}'
        incident = path.split("/")[2].removesuffix(".tar.gz")
        if incident not in self.incidents:
            return None
        if path.startswith(f"/i/{incident}/text?columns=100"):
            lines = int(dict(urllib.parse.parse_qsl(path)).get("lines", 1))
            return b"OOM kill in shop/cart\x1b[2J" + (b"\nall of it" if path.endswith("&full=1") else b"\nmore" * (lines - 1) + b"\n")
        return self.archive_of(incident) if path.endswith(".tar.gz") else FILES[path.rpartition("/")[2]]


class NodeHandler(Handler):
    def do_GET(self):
        body = self.server.answer(self.path)
        self.answer(200 if body is not None else 404, body or b"")


def daemon(name, node, ready="True"):
    return {"metadata": {"namespace": "oomwitness", "name": name}, "spec": {"nodeName": node},
            "status": {"conditions": [{"type": "Ready", "status": ready}]}}


class Plugin(unittest.TestCase):
    NEW, OLD, OTHER = "20261121T030405Z-1a2b3c4d", "20261120T030405Z-00000001", "20261121T030406Z-00000002"

    def setUp(self):
        self.scratch = self.enterContext(tempfile.TemporaryDirectory())
        self.first = self.node({self.NEW: ("shop", "cart"), self.OLD: ("shop", "cart"), self.OTHER: ("shop", "pay")})
        self.second = self.node({})
        self.cluster = {"pods": {"shop/cart": "n1"}, "daemons": [daemon("o-1", "n1"), daemon("o-2", "n2")],
                        "ports": {"pod/o-1": self.first.server_port, "pod/o-2": self.second.server_port}}
        kubectl = os.path.join(self.scratch, "kubectl")
        fileio.write(kubectl, KUBECTL)
        os.chmod(kubectl, 0o755)

    def node(self, incidents, archive_of=None):
        made = Node(incidents, archive_of)
        self.addCleanup(made.close)
        return made

    def started_plugin(self, *args):
        fileio.write_json(os.path.join(self.scratch, "cluster"), self.cluster)
        # Who runs the tests in the background may have left SIGINT ignored.
        return subprocess.Popen([sys.executable, PLUGIN, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                cwd=self.scratch, stdin=subprocess.DEVNULL,
                                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL), env={
                                    **os.environ, "PATH": f"{self.scratch}:{os.environ['PATH']}",
                                    "FAKE_CLUSTER": os.path.join(self.scratch, "cluster"), "FAKE_LOG": self.log_file()})

    def run_plugin(self, *args, status=None):
        with self.started_plugin(*args) as plugin:
            try:
                out, err = plugin.communicate(timeout=300)
            finally:
                plugin.kill()
        done = subprocess.CompletedProcess(args, plugin.returncode, out, err)
        assert_status(done, status)
        return done

    def log_file(self):
        return os.path.join(self.scratch, "calls")

    def test_ls_asks_the_node_of_the_pod_alone_and_shows_its_incidents(self):
        done = self.run_plugin("ls", "shop/cart", status=0)
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[0] for line in lines], [self.NEW, self.OLD])
        self.assertIn("leak", lines[0])
        self.assertNotIn("\x1b", done.stdout)
        calls = fileio.read(self.log_file())
        self.assertIn("spec.nodeName=n1", calls)
        self.assertNotIn("o-2", calls)
        self.assertNotIn("exec", calls)

    def test_a_pod_that_is_gone_is_found_on_the_node_that_had_it(self):
        self.cluster["pods"].clear()
        done = self.run_plugin("show", "shop/cart", status=0)
        self.assertIn("OOM kill in shop/cart", done.stdout)
        self.assertNotIn("\x1b", done.stdout)

    def test_show_is_one_screen_and_what_it_advises_works(self):
        shown = self.run_plugin("show", "shop/cart").stdout
        self.assertTrue(shown.startswith("OOM kill in shop/cart"), shown)
        self.assertIn("\nCommands run on its node: kubectl -n oomwitness exec o-1 -- oomwitness ...\n", shown)
        self.assertEqual(len(shown.splitlines()), 25, "the node's part is as long as it may be")
        for line in shown.splitlines()[-2:]:
            advised = line.partition("kubectl oomwitness ")[2].split()
            self.assertEqual(self.run_plugin(*advised).returncode, 0, line)
        self.assertIn("all of it", self.run_plugin("show", "shop/cart", "--full").stdout)
        self.assertIn("# Why", self.run_plugin("show", "shop/cart", "--markdown").stdout)
        self.assertEqual(json.loads(self.run_plugin("show", "shop/cart", "--json").stdout), {"id": "i"})

    def test_pull_brings_the_nodes_bytes(self):
        done = self.run_plugin("pull", "shop/cart", "-o", "out", status=0)
        for name, body in FILES.items():
            with open(os.path.join(self.scratch, "out", self.NEW, name), "rb") as f:
                self.assertEqual(hashlib.sha256(f.read()).digest(), hashlib.sha256(body).digest(), name)
        again = self.run_plugin("pull", "shop/cart", "-o", "out", status=1)
        self.assertIn("is there already", again.stderr)

    def test_an_archive_that_leads_elsewhere_is_refused(self):
        for hostile in (lambda i: archive("..", {"evil": b"x"}), lambda i: archive(i, {"../../evil": b"x"}),
                        lambda i: archive(i, {"link": b""}, tarfile.SYMTYPE)):
            self.first.archive_of = hostile
            done = self.run_plugin("pull", "shop/cart", "-o", "out", status=1)
            self.assertIn("something else than an incident's files", done.stderr)
            self.assertFalse(os.path.exists(os.path.join(self.scratch, "evil")))

    def test_one_node_that_does_not_answer_hides_no_other(self):
        del self.cluster["ports"]["pod/o-2"]
        done = self.run_plugin("ls", status=1)
        self.assertEqual(len(done.stdout.splitlines()), 3)
        self.assertIn("n2: no port was forwarded to o-2", done.stderr)

    def test_one_node_that_does_not_answer_hides_no_incident_of_another(self):
        self.cluster["pods"].clear()  # so that every node is asked
        self.cluster["ports"] = {"pod/o-2": self.first.server_port}
        done = self.run_plugin("show", "shop/cart", status=0)
        self.assertIn("OOM kill in shop/cart", done.stdout)
        done = self.run_plugin("show", "shop/other", status=1)
        self.assertIn("n1: no port was forwarded to o-1", done.stderr)

    def test_what_is_missing_is_one_line(self):
        self.cluster["daemons"] = [daemon("o-1", "n1", ready="False")]
        done = self.run_plugin("doctor", "shop/cart")
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done.stderr)
        self.assertIn("no ready oomwitness pod on node n1", done.stderr)
        self.assertEqual(self.run_plugin("ls", "cart").returncode, 2)

    def test_flame_and_ui_name_their_page_until_ctrl_c(self):
        for command, path in (("flame", f"/i/{self.NEW}/flame"), ("ui", "/")):
            with self.subTest(command), self.started_plugin(command, "shop/cart") as plugin:
                try:
                    self.assertEqual(plugin.stdout.readline(), f"http://127.0.0.1:{self.first.server_port}{path}\n")
                    self.assertEqual(plugin.stdout.readline(), "Ctrl-C ends it.\n")
                    plugin.send_signal(signal.SIGINT)
                    self.assertEqual(plugin.wait(60), 0)
                finally:
                    plugin.kill()

    def test_doctor_prints_the_nodes_health(self):
        done = self.run_plugin("doctor", "shop/cart", status=0)
        self.assertIn('"ok": true', done.stdout)


class Krew(unittest.TestCase):
    """The manifest and the archive that its comment makes. krew itself is not run."""
    MANIFEST = os.path.join(tools.TREE, "deploy/kubectl/oomwitness.yaml")

    def setUp(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("no python3-yaml")
        self.text = fileio.read(self.MANIFEST)
        self.spec = yaml.safe_load(self.text)["spec"]

    def test_it_has_the_version_of_the_tree(self):
        version = re.search(r"project\(oomwitness VERSION ([0-9.]+)", fileio.read(os.path.join(tools.TREE, "CMakeLists.txt")))[1]
        self.assertEqual(self.spec["version"], "v" + version)
        self.assertIn(f"-{version}.tar.gz", self.spec["platforms"][0]["uri"])

    def test_the_archive_has_what_it_installs_and_that_runs(self):
        command = re.search(r"#   (tar -czf .*)", self.text)[1].split()
        with tempfile.TemporaryDirectory() as folder:
            command[2] = os.path.join(folder, command[2])
            subprocess.run(command, check=True, cwd=tools.TREE)
            with tarfile.open(command[2]) as tar:
                tar.extractall(folder)
            for platform in self.spec["platforms"]:
                installed = [f["from"] for f in platform["files"]]
                self.assertEqual([n for n in installed if not os.path.isfile(os.path.join(folder, n))], [])
                self.assertIn(platform["bin"], installed)
            done = run_program(os.path.join(folder, self.spec["platforms"][0]["bin"]), "--help", status=0)
            self.assertIn("kubectl oomwitness", done.stdout)


class Operators(unittest.TestCase):
    def test_the_role_can_do_what_the_plugin_does_and_no_more(self):
        objects = manifests.with_component("least-capability", "operators")
        rules = manifests.only(objects, "Role", "oomwitness-operator")["rules"]
        self.assertEqual(rules, [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
                                 {"apiGroups": [""], "resources": ["pods/portforward"], "verbs": ["create"]}])
        pods = manifests.only(objects, "ClusterRole", "oomwitness-operator-pods")["rules"]
        self.assertEqual(pods, [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}])


if __name__ == "__main__":
    unittest.main()
