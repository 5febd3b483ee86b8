# SPDX-License-Identifier: Apache-2.0
"""deploy/kubectl on a real API server and its port-forward, as an operator who has components/operators and nothing else."""
import json
import os
import shutil
import tempfile

from harness import manifest, tools
from harness.daemon import evidence_files
from kube import access, objects, programs
from kube.case import ClusterTest
from kube.witness import NAMESPACE

PLUGIN = os.path.join(tools.TREE, "deploy/kubectl/kubectl-oomwitness")
RULES = os.path.join(manifest.KUBERNETES, "components/operators/rbac.yaml")


class Kubectl(ClusterTest):
    def setUp(self):
        super().setUp()
        self.witness.wait_ready()  # kubelet is later than the daemon, and the plugin asks pods that are ready
        self.kubeconfig = self.operator()
        self.folder = tempfile.mkdtemp(prefix="oomw-kubectl-")
        self._stack.callback(shutil.rmtree, self.folder)

    def operator(self):
        """The kubeconfig of this namespace's own account, bound to both roles as their comment says."""
        name, account = self.namespace, f"--serviceaccount={self.namespace}:default"
        for made, kind in ((("apply", "--filename", RULES), ("--filename", RULES)),
                           (("create", "rolebinding", name, "--role=oomwitness-operator", account), ("rolebinding", name)),
                           (("create", "clusterrolebinding", name, "--clusterrole=oomwitness-operator-pods", account),
                            ("clusterrolebinding", name))):
            self.node.kubectl(*made, "--namespace", NAMESPACE)
            self._stack.callback(self.node.kubectl, "delete", *kind, "--namespace", NAMESPACE)
        return self.node.pki.write_kubeconfig(name, access.token_of(self.api, self.namespace, "default"))

    def run_plugin(self, *args):
        done = self.node.run("env", f"PATH={os.path.dirname(programs.path_of('kubectl'))}:/usr/bin:/bin", "/usr/bin/python3", PLUGIN, *args,
                             "--kubeconfig", self.kubeconfig)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_an_operator_gets_the_evidence_of_a_pod_from_its_node_without_exec(self):
        self.create(objects.pod("orders", objects.leaking()))
        incident, = self.wait_incidents_of_pod("orders")
        pod = f"{self.namespace}/orders"
        row, = [json.loads(line) for line in self.run_plugin("ls", pod, "--json").splitlines()]
        self.assertEqual((row["id"], row["pod"]), (incident["id"], "orders"))
        shown = self.run_plugin("show", pod)
        self.assertTrue(shown.startswith("OOM kill in container "), shown)
        self.assertLessEqual(len(shown.splitlines()), 25, shown)
        self.assertTrue(json.loads(self.run_plugin("doctor", pod).split(":\n", 1)[1])["daemon"])
        with self.subTest("its files are the node's"):
            # A late status of the pod makes a revision: what is compared is one and the same state.
            before = evidence_files(incident["_dir"])
            pulled = evidence_files(self.run_plugin("pull", pod, "-o", self.folder).strip())
            self.assertIn(pulled, (before, evidence_files(incident["_dir"])))
            self.assertIn("incident.json", pulled)
        with self.subTest("the roles are no more than it needs"):
            may = self.node.run(programs.path_of("kubectl"), "--kubeconfig", self.kubeconfig, "auth", "can-i", "create", "pods/exec",
                                "--namespace", NAMESPACE)
            self.assertEqual(may.stdout.strip(), "no", may.stderr)
