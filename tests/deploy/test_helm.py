# SPDX-License-Identifier: Apache-2.0
"""deploy/helm, rendered by helm, makes what kustomize makes."""
import copy
import json
import os
import tempfile
import tomllib
import unittest

import manifests
from harness import fileio, tools
from harness.daemon import run_program

CHART = os.path.join(tools.TREE, "deploy/helm")


class Helm(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            import yaml
        except ImportError:
            raise unittest.SkipTest("no python3-yaml") from None
        cls.yaml, cls.helm = yaml, tools.supplied("helm.sh")

    def rendered(self, values=None):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(values or {}, file)  # JSON is YAML
            file.flush()
            done = run_program(self.helm, "template", "o", CHART, "--namespace", "oomwitness", "--values", file.name, status=0)
        return [o for o in self.yaml.safe_load_all(done.stdout) if o]

    def test_helm_has_nothing_to_say_against_the_chart(self):
        run_program(self.helm, "lint", "--strict", CHART, status=0)

    def comparable(self, objects):
        """By kind and name. Left out: the namespace (helm makes it), labels of the release, and how a changed configuration
        restarts the pods (a hash in a name, or in an annotation)."""
        out = {}
        for item in copy.deepcopy(objects):
            if item["kind"] == "Namespace":
                continue
            for labelled in (item, item.get("spec", {}).get("template")):
                for name in ("instance", "managed-by") if labelled else ():
                    labelled["metadata"]["labels"].pop(f"app.kubernetes.io/{name}")
            if item["kind"] == "ConfigMap" and item["metadata"]["name"].startswith("oomwitness-config"):
                item["metadata"]["name"] = "oomwitness-config"
                item["data"] = {name: self.settings(text) for name, text in item["data"].items()}
            if item["kind"] == "DaemonSet":
                item["spec"]["template"]["metadata"]["annotations"].pop("checksum/config", None)
                for volume in item["spec"]["template"]["spec"]["volumes"]:
                    if "configMap" in volume:
                        volume["configMap"]["name"] = "oomwitness-config"
            out[item["kind"], item["metadata"]["name"]] = item
        return out

    @staticmethod
    def settings(toml):
        return [line for line in toml.splitlines() if line.strip() and not line.startswith("#")]

    def assert_same(self, values, objects):
        made = self.rendered(values)
        manifests.assert_labelled(self, made, "o", "Helm")
        ours, theirs = self.comparable(made), self.comparable(objects)
        self.assertEqual(sorted(ours), sorted(theirs))
        for key in theirs:
            self.assertEqual(ours[key], theirs[key], key)

    def test_the_defaults_are_the_least_capability_overlay(self):
        self.assert_same({}, manifests.overlay("least-capability"))

    def test_privileged_is_the_privileged_overlay(self):
        self.assert_same({"privileged": True}, manifests.overlay("privileged"))

    def test_surge_and_events_are_the_components(self):
        self.assert_same({"surge": True}, manifests.with_component("least-capability", "surge"))
        self.assert_same({"podEvents": True}, manifests.with_component("least-capability", "pod-events"))

    def test_the_values_of_every_sink_are_in_the_configuration(self):
        sinks = {"otlp": {"endpoint": "http://c:4318", "headersSecret": "s", "metrics": True, "profiles": True,
                          "settings": {"command_line": True, "near_limit_seconds": 60}},
                 "webhook": {"url": "https://w", "headersSecret": "s", "cloudEvents": True}, "file": {"path": "-"},
                 "s3": {"bucket": "b", "endpoint": "https://m", "region": "r", "prefix": "p", "credentialsSecret": "s",
                        "caConfigMap": "private-ca", "settings": {"style": "path"}},
                 "pyroscope": {"url": "http://p", "headersSecret": "s", "parca": True}}
        objects = self.rendered({"clusterName": "prod", "podEvents": True, "sinks": sinks})
        self.assert_files_are_mounted(manifests.only(objects, "DaemonSet")["spec"]["template"]["spec"])
        made = manifests.only(objects, "ConfigMap")
        config = tomllib.loads(made["data"]["oomwitness.toml"])
        self.assertEqual(config["kubernetes"], {"post_events": True})
        self.assertEqual(config["sinks"], {
            "cluster_name": "prod",
            "otlp": {"endpoint": "http://c:4318", "headers_file": "/etc/oomwitness-secrets/otlp/headers", "metrics": True,
                     "profiles": True, "command_line": True, "near_limit_seconds": 60},
            "webhook": {"url": "https://w", "headers_file": "/etc/oomwitness-secrets/webhook/headers", "cloud_events": True},
            "file": {"path": "-"},
            "s3": {"bucket": "b", "endpoint": "https://m", "region": "r", "prefix": "p",
                   "credentials_file": "/etc/oomwitness-secrets/s3/credentials", "ca_file": "/etc/oomwitness-ca/s3/ca.crt",
                   "style": "path"},
            "pyroscope": {"url": "http://p", "headers_file": "/etc/oomwitness-secrets/pyroscope/headers", "parca": True}})

    def assert_files_are_mounted(self, pod):
        mounts = {m["name"]: m["mountPath"] for m in pod["containers"][0]["volumeMounts"]}
        volumes = {v["name"]: v for v in pod["volumes"]}
        for sink in ("otlp", "webhook", "s3", "pyroscope"):
            self.assertEqual(mounts[f"secret-{sink}"], f"/etc/oomwitness-secrets/{sink}")
            self.assertEqual(volumes[f"secret-{sink}"]["secret"], {"secretName": "s"})
        self.assertEqual(mounts["ca-s3"], "/etc/oomwitness-ca/s3")
        self.assertEqual(volumes["ca-s3"]["configMap"], {"name": "private-ca"})
        self.assertNotIn("ca-otlp", volumes)

    def test_the_operator_s_objects_are_those_of_its_overlay(self):
        self.assert_same({"prometheusOperator": {"enabled": True}}, manifests.overlay("prometheus-operator"))

    def test_every_alert_links_to_the_published_runbook_and_more_labels_can_be_set(self):
        objects = self.rendered({"prometheusOperator": {"enabled": True, "runbookUrl": "https://wiki.example/oomwitness",
                                                        "labels": {"release": "prometheus"}}})
        rule = manifests.only(objects, "PrometheusRule")
        alerts = [rule for group in rule["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
        self.assertGreater(len(alerts), 5)
        for alert in alerts:
            self.assertEqual(alert["annotations"]["runbook_url"], "https://wiki.example/oomwitness#" + alert["alert"].lower())
        for item in (rule, manifests.only(objects, "PodMonitor")):
            self.assertEqual(item["metadata"]["labels"].get("release"), "prometheus")
        manifests.assert_labelled(self, objects, "o", "Helm")

    def test_what_a_cluster_s_policies_ask_for_is_a_value(self):
        values = {"imagePullSecrets": [{"name": "r"}], "affinity": {"nodeAffinity": {}}, "tolerations": [{"key": "k", "operator": "Exists"}]}
        objects = self.rendered({**values, "image": {"digest": "sha256:1"}, "nodeSelector": {"pool": "a"}, "extraEnv": [{"name": "N", "value": "v"}],
                                 "podLabels": {"team": "a", "app.kubernetes.io/name": "other"},
                                 "podAnnotations": {"a": "b", "prometheus.io/scrape": "false"}, "updateStrategy": {"rollingUpdate": {"maxUnavailable": 1}}})
        manifests.assert_labelled(self, objects, "o", "Helm")
        spec, pod = manifests.only(objects, "DaemonSet")["spec"], manifests.pod_of(objects)
        self.assertLessEqual(values.items(), pod.items())
        self.assertEqual(pod["nodeSelector"], {"kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "pool": "a"})
        self.assertEqual(manifests.container_of(objects)["image"], "oomwitness@sha256:1")
        self.assertIn({"name": "N", "value": "v"}, manifests.container_of(objects)["env"])
        metadata = spec["template"]["metadata"]
        self.assertEqual(metadata["labels"]["team"], "a")
        self.assertLessEqual({"a": "b", "prometheus.io/scrape": "false", "prometheus.io/port": "9435"}.items(), metadata["annotations"].items())
        self.assertEqual(spec["updateStrategy"], {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}})

    def test_the_commands_that_are_printed_make_the_namespace_and_admit_the_pods(self):
        """Helm cannot label the release's namespace. tests/cluster runs them, but its API server enforces no pod security."""
        text = {}
        for path in ("README.md", "helm/templates/NOTES.txt"):
            text[path] = fileio.read(os.path.join(tools.TREE, "deploy", path))
        self.assertIn("helm install oomwitness deploy/helm -n oomwitness --create-namespace", text["README.md"])
        label = "pod-security.kubernetes.io/enforce"
        level = manifests.only(manifests.overlay("least-capability"), "Namespace")["metadata"]["labels"][label]
        self.assertIn(f"kubectl label namespace oomwitness {label}={level}", text["README.md"])
        self.assertIn(f"kubectl label namespace {{{{ .Release.Namespace }}}} {label}={level}", text["helm/templates/NOTES.txt"])

    def test_a_changed_configuration_restarts_the_pods(self):
        def annotations(values):
            return manifests.only(self.rendered(values), "DaemonSet")["spec"]["template"]["metadata"]["annotations"]
        self.assertNotEqual(annotations({}), annotations({"clusterName": "x"}))


if __name__ == "__main__":
    unittest.main()
