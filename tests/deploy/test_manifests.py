# SPDX-License-Identifier: Apache-2.0
"""deploy/kubernetes: every overlay builds, offline, and is consistent."""
import os
import re
import tempfile
import unittest

import manifests
import unit_file
import yaml
from harness import fileio, tools
from harness.daemon import run_cli, run_program
from prometheus_server import SHIPPED

# Keys that a typing error would slip past kustomize, which knows no schema. (Kubernetes API reference, v1)
KNOWN = {
    "pod": "serviceAccountName priorityClassName hostPID enableServiceLinks terminationGracePeriodSeconds nodeSelector "
           "tolerations containers volumes",
    "container": "name image imagePullPolicy args env workingDir ports startupProbe livenessProbe readinessProbe resources "
                 "terminationMessagePolicy volumeMounts securityContext",
    "probe": "httpGet periodSeconds timeoutSeconds failureThreshold",
    "securityContext": "privileged runAsUser readOnlyRootFilesystem capabilities seccompProfile seLinuxOptions",
    "volumeMount": "name mountPath readOnly mountPropagation",
}
# Where a pod's set differs from the unit's, and why; test_pod_view.py tries the first.
BESIDE_UNIT = {"IPC_LOCK"}  # systemd raises the memlock limit instead
NOT_IN_POD = {"SYSLOG"}  # the runtime's device rules refuse /dev/kmsg anyway
KINDS = {
    "privileged": ["ClusterRole", "ClusterRoleBinding", "ConfigMap", "DaemonSet", "Namespace", "NetworkPolicy", "ResourceQuota",
                   "ServiceAccount"],
    "prometheus-operator": ["ConfigMap", "PodMonitor", "PrometheusRule"],
    "openshift": ["Role", "RoleBinding", "SecurityContextConstraints"],
}
KINDS["least-capability"] = KINDS["privileged"]
KINDS["prometheus-operator"] = sorted(KINDS["privileged"] + KINDS["prometheus-operator"])
KINDS["openshift"] = sorted(KINDS["privileged"] + KINDS["openshift"])


class Manifests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.overlays = {name: manifests.overlay(name) for name in manifests.OVERLAYS}

    def each(self):
        """One at a time; a failure's traceback shows which."""
        return self.overlays.values()

    def test_no_overlay_is_left_untested(self):
        self.assertEqual(sorted(os.listdir(os.path.join(manifests.FOLDER, "overlays"))), sorted(manifests.OVERLAYS))

    def test_each_overlay_makes_its_objects_and_no_other(self):
        for name, objects in self.overlays.items():
            self.assertEqual(sorted(o["kind"] for o in objects), KINDS[name], name)

    def test_everything_lies_in_the_namespace_which_admits_it(self):
        cluster_wide = {"Namespace", "ClusterRole", "ClusterRoleBinding", "SecurityContextConstraints"}
        for objects in self.each():
            spaces = {o["metadata"].get("namespace") for o in objects if o["kind"] not in cluster_wide}
            self.assertEqual(spaces, {"oomwitness"}, "none goes where kubectl's context happens to point")
            labels = manifests.only(objects, "Namespace")["metadata"]["labels"]
            for mode in ("enforce", "audit", "warn"):
                self.assertEqual(labels[f"pod-security.kubernetes.io/{mode}"], "privileged")

    def test_names_that_refer_to_each_other_match(self):
        for objects in self.each():
            pod, container = manifests.pod_of(objects), manifests.container_of(objects)
            self.assertEqual(pod["serviceAccountName"], manifests.only(objects, "ServiceAccount")["metadata"]["name"])
            self.assertEqual({m["name"] for m in container["volumeMounts"]}, {v["name"] for v in pod["volumes"]})
            config = next(v["configMap"]["name"] for v in pod["volumes"] if "configMap" in v)
            self.assertIn(config, {o["metadata"]["name"] for o in objects if o["kind"] == "ConfigMap"})
            for binding in (o for o in objects if o["kind"].endswith("RoleBinding")):
                role = manifests.only(objects, binding["roleRef"]["kind"], binding["roleRef"]["name"])
                self.assertEqual(role["metadata"]["name"], binding["roleRef"]["name"])
                self.assertEqual([s["name"] for s in binding["subjects"]], [pod["serviceAccountName"]])
                self.assertEqual([s["namespace"] for s in binding["subjects"]], ["oomwitness"])

    def test_every_object_has_the_common_labels(self):
        more = [manifests.with_component("prometheus-operator", component) for component in ("operators", "pod-events", "surge")]
        for objects in [*self.each(), *more]:
            manifests.assert_labelled(self, objects, "oomwitness", "kustomize")

    def test_selectors_find_the_pods(self):
        for objects in self.each():
            spec = manifests.only(objects, "DaemonSet")["spec"]
            labels = spec["template"]["metadata"]["labels"].items()
            self.assertLessEqual(spec["selector"]["matchLabels"].items(), labels)
            for monitor in (o for o in objects if o["kind"] == "PodMonitor"):
                self.assertLessEqual(monitor["spec"]["selector"]["matchLabels"].items(), labels)
                ports = {p["name"] for p in manifests.container_of(objects)["ports"]}
                self.assertLessEqual({e["port"] for e in monitor["spec"]["podMetricsEndpoints"]}, ports)

    def test_only_scrapers_reach_the_metrics_port(self):
        for objects in self.each():
            policy = manifests.only(objects, "NetworkPolicy")["spec"]
            labels = manifests.only(objects, "DaemonSet")["spec"]["template"]["metadata"]["labels"].items()
            self.assertLessEqual(policy["podSelector"]["matchLabels"].items(), labels)
            self.assertEqual(policy["policyTypes"], ["Ingress"])
            rule, = policy["ingress"]
            self.assertEqual(rule["ports"], [{"protocol": "TCP", "port": "metrics"}])
            self.assertTrue(rule["from"])
            for peer in rule["from"]:  # an empty selector would be every namespace
                self.assertTrue(peer["namespaceSelector"].get("matchLabels") or peer["namespaceSelector"]["matchExpressions"])
            names = {name for peer in rule["from"] for e in peer["namespaceSelector"].get("matchExpressions", []) for name in e["values"]}
            with open(os.path.join(tools.TREE, "deploy/README.md"), encoding="utf-8") as f:
                text = re.search(r"by a NetworkPolicy, to the namespaces (.*?);", f.read(), re.S)[1]
            self.assertEqual(set(re.findall(r"`([a-z-]+)`", text)), names)

    def test_the_pod_listens_where_probes_and_prometheus_come_from(self):
        for objects in self.each():
            self.assertRegex(manifests.config_of(objects), r'(?m)^metrics_listen = ":9435"$')

    def test_no_key_is_misspelt(self):
        for objects in self.each():
            container = manifests.container_of(objects)
            found = {"pod": [manifests.pod_of(objects)], "container": [container],
                     "probe": [container[k] for k in container if k.endswith("Probe")],
                     "securityContext": [container["securityContext"]], "volumeMount": container["volumeMounts"]}
            for what, parts in found.items():
                self.assertEqual({key for part in parts for key in part} - set(KNOWN[what].split()), set(), what)

    def test_probes_ask_the_daemon_s_health(self):
        for objects in self.each():
            container = manifests.container_of(objects)
            self.assertIn({"name": "metrics", "containerPort": 9435}, container["ports"])
            paths = {kind: container[kind]["httpGet"] for kind in ("startupProbe", "livenessProbe", "readinessProbe")}
            self.assertEqual(paths, {"startupProbe": {"path": "/readyz", "port": "metrics"},
                                     "livenessProbe": {"path": "/healthz", "port": "metrics"},
                                     "readinessProbe": {"path": "/readyz", "port": "metrics"}})

    def test_pods_survive_pressure_and_upgrades_go_node_by_node(self):
        for objects in self.each():
            pod = manifests.pod_of(objects)
            self.assertEqual(pod["priorityClassName"], "system-node-critical")
            self.assertEqual(pod["tolerations"], [{"operator": "Exists"}])
            self.assertTrue(pod["hostPID"])
            rolling = manifests.only(objects, "DaemonSet")["spec"]["updateStrategy"]
            self.assertEqual((rolling["type"], rolling["rollingUpdate"]), ("RollingUpdate", {"maxUnavailable": "10%"}))
            container = manifests.container_of(objects)
            self.assertEqual(container["terminationMessagePolicy"], "FallbackToLogsOnError")
            self.assertNotIn("cpu", container["resources"]["limits"])
            self.assertEqual([e["valueFrom"]["fieldRef"]["fieldPath"] for e in container["env"] if e["name"] == "NODE_NAME"],
                             ["spec.nodeName"])

    def test_only_its_data_and_what_commands_write_may_be_written(self):
        for objects in self.each():
            container = manifests.container_of(objects)
            writable = [m["mountPath"] for m in container["volumeMounts"] if not m.get("readOnly")]
            self.assertEqual((writable, container["workingDir"]), (["/var/lib/oomwitness", "/tmp"], "/tmp"))
            self.assertTrue(container["securityContext"]["readOnlyRootFilesystem"])
            volumes = {v["name"]: v.get("hostPath", v.get("emptyDir")) for v in manifests.pod_of(objects)["volumes"]}
            self.assertEqual(volumes["data"], {"path": "/var/lib/oomwitness", "type": "DirectoryOrCreate"})
            self.assertEqual(volumes["tmp"], {"sizeLimit": "256Mi"})

    def test_configuration_is_good_and_means_what_is_mounted(self):
        for objects in self.each():
            text = manifests.config_of(objects)
            self.check_config(text)
            mounts = [m["mountPath"] for m in manifests.container_of(objects)["volumeMounts"]]
            self.assertIn(re.search(r'^cgroup_root = "(.*)"$', text, re.M)[1], mounts)
            self.assertIn(re.search(r'^host_root = "(.*)"$', text, re.M)[1] + "/run", mounts)
            self.assertIn("/etc/oomwitness", mounts)

    def check_config(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".toml") as f:
            f.write(text)
            f.flush()
            done = run_cli("incidents", "--config", f.name, "--data-dir", "/nonexistent")
        self.assertNotEqual(done.returncode, 2, done.stderr)

    def test_the_default_and_what_is_made_of_it_have_the_tested_set(self):
        for name in ("least-capability", "prometheus-operator"):
            context = manifests.container_of(self.overlays[name])["securityContext"]
            self.assertEqual(context["capabilities"]["drop"], ["ALL"], name)
            self.assertEqual(set(context["capabilities"]["add"]), unit_file.capabilities() - NOT_IN_POD | BESIDE_UNIT, name)
            self.assertFalse(context["privileged"], name)
            self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"}, name)

    def test_the_install_commands_are_those_of_the_default(self):
        for path in ("README.md", "deploy/README.md", "deploy/kubernetes/README.md"):
            commands = re.findall(r"kubectl apply -k (\S+?)`? ?(?:\(|$|\|)", fileio.read(os.path.join(tools.TREE, path)), re.M)
            self.assertEqual(commands, ["deploy/kubernetes/overlays/least-capability"], path)

    def test_the_table_says_what_each_capability_is_for_and_what_is_lost_without_it(self):
        with open(os.path.join(tools.TREE, "deploy/README.md"), encoding="utf-8") as f:
            rows = re.findall(r"^\| `([A-Z_]+)` \| (yes|no) \| (yes|no) \| ([^|]+) \| ([^|]+) \|$", f.read(), re.M)
        pod = set(manifests.container_of(self.overlays["least-capability"])["securityContext"]["capabilities"]["add"])
        self.assertEqual({row[0] for row in rows if row[1] == "yes"}, pod)
        self.assertEqual({row[0] for row in rows if row[2] == "yes"}, unit_file.capabilities())

    def test_apparmor_is_off_in_the_form_that_every_api_server_takes(self):
        """The field came with 1.30, older ones refuse it; since then API servers make it of the annotation."""
        objects = self.overlays["least-capability"]
        template = manifests.only(objects, "DaemonSet")["spec"]["template"]
        key = "container.apparmor.security.beta.kubernetes.io/" + manifests.container_of(objects)["name"]
        self.assertEqual(template["metadata"]["annotations"][key], "unconfined")
        self.assertNotIn("appArmorProfile", str(template["spec"]))

    def test_quantities_are_spelt_as_the_api_server_gives_them_back(self):
        """Otherwise every apply prints "configured"."""
        for objects in self.each():
            self.assertEqual(manifests.only(objects, "ResourceQuota")["spec"]["hard"], {"pods": "10k"})

    def test_what_least_capability_loses_is_in_the_readme(self):
        """doctor's line of it: test_capabilities.py, test_without_syslog_..."""
        self.assertEqual(NOT_IN_POD, {"SYSLOG"})
        readme = " ".join(fileio.read(os.path.join(tools.TREE, "README.md")).split())
        self.assertRegex(readme, "least-capability.{0,400}kernel log")

    def test_privileged_overlays_say_so_and_the_scc_admits_them(self):
        for name in ("privileged", "openshift"):
            self.assertTrue(manifests.container_of(self.overlays[name])["securityContext"]["privileged"], name)
        objects = self.overlays["openshift"]
        scc, pod = manifests.only(objects, "SecurityContextConstraints"), manifests.pod_of(objects)
        self.assertTrue(scc["allowPrivilegedContainer"] and scc["allowHostPID"] and scc["allowHostDirVolumePlugin"])
        self.assertLessEqual({key for v in pod["volumes"] for key in v if key != "name"}, set(scc["volumes"]))
        role = manifests.only(objects, "Role")["rules"][0]
        self.assertEqual((role["resourceNames"], role["verbs"]), ([scc["metadata"]["name"]], ["use"]))

    def test_it_may_read_pods_and_nothing_else(self):
        for objects in self.each():
            role = manifests.only(objects, "ClusterRole")
            self.assertEqual(role["rules"], [{"apiGroups": [""], "resources": ["pods"], "verbs": ["list", "watch"]}])

    def test_rules_and_dashboard_are_those_of_prometheus_and_grafana(self):
        objects = self.overlays["prometheus-operator"]
        with open(os.path.join(SHIPPED, "oomwitness.rules.yml")) as f:
            self.assertEqual(manifests.only(objects, "PrometheusRule")["spec"], yaml.safe_load(f))
        render = os.path.join(manifests.FOLDER, "render.py")
        run_program("/usr/bin/python3", render, "--check", status=0)
        dashboard = manifests.only(objects, "ConfigMap", "oomwitness-dashboard")
        self.assertEqual(dashboard["metadata"]["labels"]["grafana_dashboard"], "1")
        self.assertEqual(dashboard["data"]["oomwitness.json"], fileio.read(os.path.join(tools.TREE, "deploy/grafana/oomwitness.json")))

    def test_a_target_has_the_name_of_its_node(self):
        """No label needs to be honoured: test_rules.py."""
        monitor = manifests.only(self.overlays["prometheus-operator"], "PodMonitor")
        endpoint, = monitor["spec"]["podMetricsEndpoints"]
        self.assertEqual(endpoint["relabelings"], [{"sourceLabels": ["__meta_kubernetes_pod_node_name"], "targetLabel": "instance"}])


class Runbook(unittest.TestCase):
    """Opt-in: nobody but the operator knows where the runbook is published."""

    def test_every_alert_links_to_the_published_runbook(self):
        with open(os.path.join(manifests.FOLDER, "components/runbook/kustomization.yaml")) as f:
            example = yaml.safe_load("".join(line[1:] for line in f.readlines()[3:] if line.startswith("#  ")))
        self.assertEqual((example.pop("resources"), example.pop("components")), (["../prometheus-operator"], ["../../components/runbook"]))
        objects = manifests.with_component("prometheus-operator", "runbook", example)
        alerts = [rule for group in manifests.only(objects, "PrometheusRule")["spec"]["groups"] for rule in group["rules"] if "alert" in rule]
        self.assertGreater(len(alerts), 5)
        for alert in alerts:
            self.assertEqual(alert["annotations"]["runbook_url"], "https://wiki.example/oomwitness#" + alert["alert"].lower())
        self.assertEqual([o["metadata"]["name"] for o in objects if "runbook" in o["metadata"]["name"]], [])


class Surge(unittest.TestCase):
    """Opt-in: an API server before 1.22 does not know maxSurge."""

    def test_the_new_pod_starts_beside_the_old_one(self):
        for overlay in manifests.OVERLAYS:
            objects = manifests.with_component(overlay, "surge")
            rolling = manifests.only(objects, "DaemonSet")["spec"]["updateStrategy"]
            self.assertEqual(rolling, {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}})
            self.assertIn("--standby", manifests.container_of(objects)["args"])

    def test_two_pods_fit_on_a_node(self):
        """Ports of the node would be taken, and host networking would make them the node's."""
        objects = manifests.overlay("privileged")
        self.assertFalse(manifests.pod_of(objects).get("hostNetwork", False))
        self.assertEqual([p for p in manifests.container_of(objects)["ports"] if "hostPort" in p], [])

    def test_without_it_every_api_server_takes_the_manifests(self):
        for overlay in manifests.OVERLAYS:
            rolling = manifests.only(manifests.overlay(overlay), "DaemonSet")["spec"]["updateStrategy"]["rollingUpdate"]
            self.assertNotIn("maxSurge", rolling)
            # A pod that starts while the old one still writes its last incidents waits for it.
            self.assertIn("--standby", manifests.container_of(manifests.overlay(overlay))["args"])


class PodEvents(unittest.TestCase):
    """Opt-in: one more role, one more key."""

    @classmethod
    def setUpClass(cls):
        cls.objects = manifests.with_component("privileged", "pod-events")

    def test_events_may_be_made_and_nothing_more(self):
        role = manifests.only(self.objects, "ClusterRole", "oomwitness-events")
        self.assertEqual(role["rules"], [{"apiGroups": [""], "resources": ["events"], "verbs": ["create"]}])

    def test_the_configuration_is_replaced_and_good(self):
        text = manifests.config_of(self.objects)
        self.assertIn("\n[kubernetes]\npost_events = true\n", text)
        if not os.path.isdir(os.path.join(tools.TREE, "userspace/kubernetes")):
            self.skipTest("this tree does not read [kubernetes] yet")
        Manifests.check_config(self, text)
