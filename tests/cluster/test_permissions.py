# SPDX-License-Identifier: Apache-2.0
"""What oomwitness is allowed is exactly enough: each verb that is taken away breaks one thing that has a name. And the token
by which it asks may be exchanged, and the old one end, at any time."""
import json
import os
import shutil
import tempfile

from harness import fileio, manifest
from harness.wait import eventually

from kube import access, objects, programs
from kube.case import ClusterTest, running
from kube.gate import Gate
from kube.processes import kill_daemon
from kube.witness import NAMESPACE

TOKEN = "rotating-token"
# A present kubelet mounts this for each pod by itself, with a token that can be ended.
_TOKEN_VOLUME = {"name": "token", "projected": {"sources": [
    {"secret": {"name": TOKEN, "items": [{"key": "token", "path": "token"}]}},
    {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
    {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}}]}}
_MOUNT = {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True}
_PATCH = {"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "oomwitness", "namespace": NAMESPACE},
          "spec": {"template": {"spec": {"automountServiceAccountToken": False, "volumes": [_TOKEN_VOLUME],
                                         "containers": [{"name": "oomwitness", "volumeMounts": [_MOUNT]}]}}}}


def write_overlay(folder):
    """The privileged one with Events, added as the component's comment describes, and with that token."""
    def path_of(*names):
        return os.path.relpath(os.path.join(manifest.KUBERNETES, *names), folder)

    made = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
            "resources": [path_of("overlays/privileged")], "components": [path_of("components/pod-events")],
            "patches": [{"patch": json.dumps(_PATCH)}]}
    fileio.write_json(os.path.join(folder, "kustomization.yaml"), made)


class Permissions(ClusterTest):
    _token = None

    @classmethod
    def setUpClass(cls):
        cls.overlay = os.path.realpath(tempfile.mkdtemp(prefix="oomw-overlay-"))
        cls.addClassCleanup(shutil.rmtree, cls.overlay)
        write_overlay(cls.overlay)

    def setUp(self):
        self.make_token_once()
        super().setUp()

    def make_token_once(self):
        """Before the overlay is applied, whose pods wait for it."""
        cls = type(self)
        if cls._token is None and not programs.why_not():
            cls._token = access.RevocableToken(running.get().node.api, TOKEN)
            cls.addClassCleanup(cls._token.close)

    def errors(self, kind):
        return self.witness.scrape().sum("oomwitness_kubernetes_errors_total", kind=kind)

    def state(self):
        return [labels["state"] for labels, value in self.witness.scrape().values("oomwitness_kubernetes_state") if value]

    def wait_watching(self):
        """What failed is tried again after a second, then two, four ..."""
        eventually(lambda: self.state() == ["watching"], lambda: f"it watches: {self.witness.scrape().text}", 60, 0.1)

    def cut_watch(self):
        """Ends its connections to the API server, as any box between them may; it asks anew."""
        done = self.node.run("ss", "--kill", "--tcp", "dst", self.witness.address, "sport", "=", ":443")
        self.assertEqual(done.returncode, 0, done.stderr)

    def doctor(self):
        """Its line about the API, as `kubectl exec` shows it."""
        printed = self.node.kubectl("exec", "--namespace", NAMESPACE, "daemonset/oomwitness", "--", "/usr/bin/oomwitness", "doctor")
        return next(line for line in printed.splitlines() if "kubernetes_api" in line)

    def kill_of(self, name):
        self.create(objects.pod(name, objects.leaking(rate=200)))
        return self.wait_incidents_of_pod(name)[0]

    def assert_named_by_the_api(self, incident):
        self.assertEqual(incident["pod"]["labels"], self.pod(incident["pod"]["name"])["metadata"]["labels"])

    def assert_named_by_files_alone(self, incident, name):
        """Namespace, pod, container; nothing of what only the API knows is claimed."""
        pod = self.pod(name)
        named = incident["pod"]
        self.assertEqual((named["namespace"], named["name"], named["uid"]), (self.namespace, name, pod["metadata"]["uid"]))
        self.assertEqual(incident["container"]["name"], "orders")
        self.assertFalse(named["labels"], "only the API has them")
        self.assertEqual([named.get(what) for what in ("owner", "workload", "restart_count", "disagreement")], [None] * 4)

    def events_of(self, name):
        return [e for e in self.api.events(self.namespace)
                if e["involvedObject"]["name"] == name and e["source"].get("component") == "oomwitness"]

    def wait_marker(self, incident):
        """What became of its Event. Those of earlier kills on this node may be tried before it, one each 6 s."""
        path = os.path.join(incident["_dir"], ".delivery-kubernetes_events")
        eventually(lambda: os.path.exists(path), lambda: f"{path}; {self.witness.scrape().text}", 60, 0.1)
        return fileio.read_json(path)

    def posted(self, result):
        return self.witness.scrape().sum("oomwitness_kubernetes_events_total", result=result)

    def rule(self, role):
        rule, = access.rules_of(self.api, role)
        return rule["apiGroups"], rule["resources"], sorted(rule["verbs"])

    # --- the roles

    def test_event_is_posted_and_names_come_from_the_api_with_the_roles_as_shipped(self):
        self.assertEqual(self.rule("oomwitness"), ([""], ["pods"], ["list", "watch"]))
        self.assertEqual(self.rule("oomwitness-events"), ([""], ["events"], ["create"]))
        self.assertIn("lists the pods", self.doctor())
        incident = self.kill_of("orders")
        self.assert_named_by_the_api(incident)
        event, = eventually(lambda: self.events_of("orders"), "an Event on the pod")
        self.assertIn(incident["id"], event["message"])
        self.assertEqual((event["reason"], event["source"]["host"]), ("OOMKill", incident["pod"]["node"]))
        self.assertEqual((self.errors("forbidden"), self.posted("forbidden")), (0, 0))

    def test_event_for_a_namespace_that_is_being_deleted_delays_no_other(self):
        """The server answers 403 to it, as to a missing permission, after which none would be tried for five minutes."""
        gate = self.closing(Gate(self.node, self.namespace))
        self.create(gate.pod("orders", restartPolicy="Never", terminationGracePeriodSeconds=30))
        self.wait_pods(lambda pods: pods and all(p["status"]["phase"] == "Running" for p in pods), "it runs")
        refused, forbidden = self.posted("refused"), self.posted("forbidden")
        self.api.delete(f"api/v1/namespaces/{self.namespace}")
        gate.open("orders")
        incident, = self.wait_incidents_of_pod("orders")
        self.assertEqual(self.wait_marker(incident)["reason"], "refused")
        eventually(lambda: self.posted("refused") > refused, lambda: self.witness.scrape().text)
        self.assertEqual(self.posted("forbidden"), forbidden)

    def test_event_without_create_is_missing(self):
        """The last of its class to want an Event: after a refusal, be it of an earlier kill's, none is tried for five minutes."""
        with access.without(self.api, "oomwitness-events", "create", "events"):
            before = self.posted("forbidden")
            self.kill_of("orders")
            eventually(lambda: self.posted("forbidden") == before + 1, lambda: self.witness.scrape().text)
            self.assertEqual(self.events_of("orders"), [])

    def test_list_taken_away_leaves_names_from_files_alone_and_doctor_says_so(self):
        with access.without(self.api, "oomwitness", "list", "pods"):
            kill_daemon(self.witness, self.witness.pods()[0])  # it lists once, at its start
            eventually(lambda: self.errors("forbidden") > 0, lambda: self.witness.scrape().text)
            self.assertIn("forbidden", self.doctor())
            self.assert_named_by_files_alone(self.kill_of("orders"), "orders")
        self.wait_watching()
        self.assertNotIn("forbidden", self.doctor())
        self.assert_named_by_the_api(self.kill_of("again"))

    def test_watch_taken_away_leaves_new_pods_with_names_from_files_alone(self):
        with access.without(self.api, "oomwitness", "watch", "pods"):
            before = self.errors("forbidden")
            self.cut_watch()
            eventually(lambda: self.errors("forbidden") > before, lambda: self.witness.scrape().text)
            self.assert_named_by_files_alone(self.kill_of("orders"), "orders")
        self.wait_watching()
        self.assert_named_by_the_api(self.kill_of("again"))

    # --- the token

    def test_token_that_ended_is_replaced_by_the_one_that_kubelet_wrote_meanwhile(self):
        self.wait_watching()
        before, old = self.errors("unauthorized"), self._token.token
        end_old = self._token.rotate()
        self.wait_written()
        end_old()
        eventually(lambda: not self.is_accepted(old), "the old token is refused", 60, 0.5)
        self.assertTrue(self.is_accepted(self._token.token))
        self.cut_watch()
        eventually(lambda: self.errors("unauthorized") == before + 1, lambda: self.witness.scrape().text)
        self.wait_watching()
        self.assert_named_by_the_api(self.kill_of("orders"))
        self.assertEqual(self.errors("unauthorized"), before + 1, "one refusal, and then the new token")

    def wait_written(self):
        """Kubelet writes it at the pod's next turn: a new annotation is one."""
        pod, = self.witness.pods()
        path = f"api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}"
        self.api.call("PATCH", path, {"metadata": {"annotations": {"rotated": self.namespace}}}, "application/merge-patch+json")
        volumes = f"kubelet/pods/{pod['metadata']['uid']}/volumes/kubernetes.io~projected/token/token"
        inside = f"/proc/{self.node.holder}/root{self.node.path(volumes)}"

        def written():
            return fileio.read(inside)

        eventually(lambda: written() == self._token.token, "kubelet writes the new token", 120, 0.2)

    def is_accepted(self, token):
        """The server remembers for ten seconds whom it has let in."""
        asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        return json.loads(self.api.call("POST", "apis/authentication.k8s.io/v1/tokenreviews", asked))["status"].get("authenticated", False)
