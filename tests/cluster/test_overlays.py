# SPDX-License-Identifier: Apache-2.0
"""Every overlay of deploy/kubernetes, and the chart, as they are shipped: accepted by a real API server, and they catch a kill."""
import os
import re
import shutil
from pathlib import Path

from harness import fileio, manifest, tools
from kube import objects
from kube.case import ClusterTest
from kube.pod_assertions import PodAssertions
from kube.witness import NAMESPACE

LIMIT_BYTES = 64 << 20
_CRDS = {"monitoring.coreos.com": ("PodMonitor", "PrometheusRule"), "security.openshift.io": ("SecurityContextConstraints",)}


def resource_of(kind):
    """SecurityContextConstraints is its own plural."""
    return kind.lower() if kind.endswith("s") else kind.lower() + "s"


def definition(group, kind):
    """Of whatever the operator, or OpenShift, has there: any fields."""
    names = {"kind": kind, "plural": resource_of(kind), "listKind": kind + "List"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{names['plural']}.{group}"},
            "spec": {"group": group, "names": names, "scope": "Cluster" if "Security" in kind else "Namespaced",
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}]}}


class Overlays(PodAssertions, ClusterTest):
    def define(self, group):
        for kind in _CRDS[group]:
            made = definition(group, kind)
            path = "apis/apiextensions.k8s.io/v1/customresourcedefinitions"
            self._stack.callback(self.api.delete, f"{path}/{made['metadata']['name']}")
            self.api.call("POST", path, made)
            self.node.kubectl("wait", "--for=condition=established", "--timeout=60s", f"crd/{made['metadata']['name']}")

    def assert_catches_a_kill(self):
        """With all that it can do: a complete profile at the kill. By then its probes have succeeded, too."""
        self.create(objects.pod("orders", objects.leaking()))
        incident = self.wait_heap_at_kill("orders")
        self.assertEqual(incident["limit"]["bytes"], LIMIT_BYTES)
        self.assertEqual(incident["pod"]["labels"], self.pod("orders")["metadata"]["labels"])
        self.witness.wait_ready()

    def names_in(self, path):
        return [o["metadata"]["name"] for o in self.api.get(path)["items"]]

    def assert_catches_with(self, overlay):
        self.witness.apply(overlay)
        self.assert_catches_a_kill()

    def test_prometheus_operator(self):
        self.define("monitoring.coreos.com")
        self.assert_catches_with("prometheus-operator")
        for kind in _CRDS["monitoring.coreos.com"]:
            folder = f"apis/monitoring.coreos.com/v1/namespaces/{NAMESPACE}/{resource_of(kind)}"
            self.assertEqual(self.names_in(folder), ["oomwitness"])
        dashboards = [o["metadata"]["namespace"] for o in self.api.get("api/v1/configmaps")["items"]
                      if "oomwitness.json" in o.get("data", {})]
        self.assertEqual(dashboards, [NAMESPACE])

    def test_openshift(self):
        self.define("security.openshift.io")
        self.assert_catches_with("openshift")
        self.assertEqual(self.names_in("apis/security.openshift.io/v1/securitycontextconstraints"), ["oomwitness"])

    def test_least_capability(self):
        self.assert_catches_with("least-capability")

    def test_applied_again_nothing_changes(self):
        self.witness.wait_ready()
        printed = self.witness.apply("privileged")
        self.assertEqual([line for line in printed.splitlines() if not line.endswith(" unchanged")], [])

    def helm(self, *command):
        helm = tools.supplied("helm.sh")
        done = self.node.run("env", f"KUBECONFIG={self.node.pki.path('admin.kubeconfig')}", "HOME=/nonexistent", helm, *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_the_printed_helm_command_installs_from_nothing(self):
        command = re.search(r"`helm (install [^`]+)`", fileio.read(os.path.join(tools.TREE, "deploy/README.md")))[1]
        chart = Path(shutil.copytree(os.path.join(tools.TREE, "deploy/helm"), os.path.join(self.scratch, "chart")))
        about = (chart / "Chart.yaml").read_text()
        (chart / "Chart.yaml").write_text(re.sub("kubeVersion:.*\n", "", about))  # the tests' API server says that it is v0.0.0
        self.node.kubectl("delete", "-k", os.path.join(manifest.KUBERNETES, "overlays", self.witness.overlay))
        self.witness.overlay = None  # the next case installs its own
        self._stack.callback(self.node.kubectl, "delete", "namespace", NAMESPACE, "--ignore-not-found")
        notes = self.helm(*command.replace("deploy/helm", str(chart)).split())
        self._stack.callback(self.helm, "uninstall", "oomwitness", "-n", NAMESPACE)
        label = re.search(r"kubectl (label namespace \S+ \S+)", notes)[1]
        self.assertIn(f"namespace/{NAMESPACE} labeled", self.node.kubectl(*label.split()))
        self.witness.wait_rolled_out()
        self.assert_catches_a_kill()
