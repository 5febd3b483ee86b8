# SPDX-License-Identifier: Apache-2.0
"""Pods as Kubernetes runs them: a real containerd, asked over CRI as a kubelet asks it, killed by the kernel.

No API server: names come from what the runtime leaves on the node.
"""
import glob
import os

from harness import containerd, cri, fileio, tools
from harness.case import MIB, E2eTest
from harness.containerd import Containerd
from harness.revisions import with_walk
from harness.wait import eventually

IMAGE = "localhost/leaky-go:1.26"
LIMIT_MB = 96
NAMESPACE = "payments"


class CriTest(E2eTest):
    """A node with a containerd and a daemon that sees it as it would see its host."""

    def setUp(self):
        if containerd.why_not():
            self.skipTest(containerd.why_not())
        super().setUp()
        self.program = tools.go_program("1.26", "strip")
        self.qos = self.cgroup("kubepods")
        self.runtime = self._stack.enter_context(Containerd(self.scratch))
        self.runtime.import_image(IMAGE, {"/leaky-go": self.program}, ["/leaky-go"])

    def witness(self, config=""):
        return self.daemon(f'host_root = "{self.runtime.host_root()}"\n{config}')

    def pod(self, name="orders-6f", **options):
        made = self._stack.enter_context(cri.Pod(self.runtime, self.qos, NAMESPACE, name, **options))
        self.cgroups.append(made.cgroup)
        return made.start()

    def container(self, pod, name, *args, image=IMAGE, limit_mb=LIMIT_MB, **options):
        """Named after the test, so that its kills can be distinguished from others."""
        made = pod.container(self.prefix + name, image, args, limit_bytes=limit_mb and limit_mb * MIB, **options)
        self.cgroups.append(made.cgroup)
        return made

    def leak(self, pod, name="orders", rate=40, **options):
        """Sampled eight times as often as by default, where 96 MiB are 180 samples: their error of 7 % is not the test's."""
        return self.container(pod, name, "-listen", "127.0.0.1:1777", "-rate", rate, "-profile-rate", 65536, **options)

    def idle(self, pod, name, **options):
        return self.container(pod, name, "-listen", "", "-rate", 40, "-limit-mb", 8, **options)

    def only_incident(self, witness, container):
        return self.wait_incidents(witness, 1, container.cgroup)[0]

    def assert_names(self, incident, pod, container):
        known = incident["container"]
        self.assertEqual((known["id"], known["name"], known["runtime"]), (container.id, container.name, "containerd"))
        self.assertEqual(known["image"], container.image)
        self.assertEqual(known["cgroup_path"], container.cgroup.path)
        named = incident["pod"]
        self.assertEqual((named["namespace"], named["name"], named["uid"]), (pod.namespace, pod.name, pod.uid))


class Cri(CriTest):
    long = True

    def test_pod_is_named_in_full_and_its_endpoint_was_asked_inside_it(self):
        witness, pod = self.witness(), self.pod(labels={"app": "orders"})
        container = self.leak(pod, security={5: {1: 10001}})
        netns = container.netns()
        status = container.wait_oom_killed()
        incident = self.only_incident(witness, container)
        self.assert_names(incident, pod, container)
        self.assertEqual((incident["scope"], incident["limit"]["bytes"]), ("container", LIMIT_MB * MIB))
        self.assertEqual(incident["limit"]["owner_cgroup_path"], container.cgroup.path)
        self.assertEqual([(v["pid"], v["uid"]) for v in incident["victims"]], [(container.pid, 10001)])
        fetched = [c for c in incident["captures"] if c["method"] == "http" and c["result"] == "ok"]
        self.assertTrue(fetched, incident["captures"])
        self.assertNotEqual(netns, os.stat("/proc/self/ns/net").st_ino)
        for capture in fetched:
            self.assertIn(f"http://127.0.0.1:1777/debug/pprof/heap in netns {netns}", capture["detail"])
        captures = with_walk(incident)["captures"]
        self.assertIn("at_kill", [c["method"] for c in captures if c["complete"]], captures)
        self.assertEqual(status.reason, "OOMKilled")

    def test_of_two_containers_the_killed_one_is_named(self):
        witness, pod = self.witness(), self.pod()
        sidecar = self.idle(pod, "sidecar")
        container = self.leak(pod)
        container.wait_oom_killed()
        self.assert_names(self.only_incident(witness, container), pod, container)
        self.assertEqual(self.incidents_of(witness, sidecar.cgroup), [])
        self.assertEqual(sidecar.status().reason, "")

    def test_limit_of_the_pods_own_is_told_from_its_containers(self):
        """The container has none, so it is no limit that a kubelet summed up; what filled it is the container all the same."""
        witness, pod = self.witness(), self.pod(limit_bytes=LIMIT_MB * MIB)
        container = self.leak(pod, limit_mb=None)
        container.wait_oom_killed()
        incident = self.only_incident(witness, container)
        self.assert_names(incident, pod, container)
        self.assertEqual(incident["scope"], "pod")
        self.assertEqual(incident["limit"], {"bytes": LIMIT_MB * MIB, "owner_cgroup_path": pod.cgroup.path})
        self.assertEqual([(s["container"], s["limit_bytes"]) for s in incident["limit_shares"]], [(container.name, None)])
        self.assertNotIn((incident["verdict"] or {}).get("cause"), ("ancestor_limit", "pod_limit"))

    def test_limit_that_a_kubelet_gives_the_pod_counts_as_its_containers(self):
        """The sum of its containers' limits; the sandbox is charged to it too, so it is reached first."""
        witness, plain, pod = self.witness(), self.pod("plain-6f"), self.pod(limit_bytes=LIMIT_MB * MIB)
        alone, container = self.leak(plain, "alone"), self.leak(pod)
        incidents = []
        for made in (alone, container):
            made.wait_oom_killed()
            incidents.append(self.only_incident(witness, made))
        self.assertEqual([i["limit"]["owner_cgroup_path"] for i in incidents], [alone.cgroup.path, pod.cgroup.path])
        self.assertEqual([i["scope"] for i in incidents], ["container", "container"])
        self.assertEqual(*[(i["verdict"] or {}).get("cause") for i in incidents])
        self.assert_names(incidents[1], pod, container)
        taken = [(c["method"], c["trigger"]) for c in incidents[1]["captures"] if c["result"] != "skipped"]
        self.assertEqual(len(taken), len(set(taken)), "once for the pod and once for the container")

    def containers_in_metrics(self, witness, pod):
        return sorted(labels["k8s_container_name"] for labels, _ in witness.scrape().values("oomwitness_container_memory_usage_bytes")
                      if labels["k8s_pod_name"] == pod.name and labels["k8s_namespace_name"] == pod.namespace)

    def test_sandbox_and_pod_are_no_containers_in_metrics(self):
        """The sandbox's bundle marks it as one; the pod's limit counts only for a container that has none."""
        limited, whole = self.pod(limit_bytes=LIMIT_MB * MIB), self.pod("whole-0", limit_bytes=LIMIT_MB * MIB)
        self.idle(limited, "orders")
        self.idle(whole, "free", limit_mb=None)
        for started in ("beside them", "and again, after a restart"):
            witness = self.witness()
            for pod, wanted in ((limited, [self.prefix + "orders"]), (whole, ["", self.prefix + "free"])):
                eventually(lambda: self.containers_in_metrics(witness, pod) == wanted,
                           lambda: f"{started}: {wanted}, not {self.containers_in_metrics(witness, pod)}", 30)
            witness.stop()

    def test_init_container_is_named_and_its_pod_goes_on(self):
        witness, pod = self.witness(), self.pod()
        migrate = self.leak(pod, "init-migrate")
        migrate.wait_oom_killed()
        container = self.idle(pod, "orders")
        self.assert_names(self.only_incident(witness, migrate), pod, migrate)
        self.assertEqual(self.incidents_of(witness, container.cgroup), [])

    def test_static_pod_is_known_by_the_hash_that_is_its_uid(self):
        """The API server's mirror pod has another uid; the node's cgroup has this one."""
        uid = cri.new_uid().replace("-", "")
        annotations = {"kubernetes.io/config.source": "file", "kubernetes.io/config.hash": uid}
        witness, pod = self.witness(), self.pod("etcd-node-1", uid=uid, annotations=annotations)
        container = self.leak(pod)
        container.wait_oom_killed()
        self.assert_names(self.only_incident(witness, container), pod, container)

    def test_restarted_container_goes_on_in_the_same_series(self):
        witness, pod = self.witness(), self.pod()
        first = self.leak(pod)
        first.wait_oom_killed()
        self.wait_counted(witness, 1)
        second = self.leak(pod, attempt=1)
        second.wait_oom_killed()
        self.wait_counted(witness, 2)
        self.assertNotEqual(first.id, second.id)
        series = [(l, v) for l, v in witness.scrape().values("oomwitness_oom_kills_total") if l["k8s_container_name"] == first.name]
        named = {"k8s_namespace_name": NAMESPACE, "k8s_pod_name": pod.name, "k8s_container_name": first.name, "scope": "container"}
        self.assertEqual([(named.items() <= labels.items(), value) for labels, value in series], [(True, 2.0)], series)
        for container in (first, second):
            self.assert_names(self.only_incident(witness, container), pod, container)

    def test_dead_containerd_leaves_nothing_behind(self):
        """Of this harness: a failed test must not leave pods on the machine."""
        pod = self.pod()
        container = self.idle(pod, "orders")
        self.runtime.process.kill()
        self.runtime.process.wait()
        pod.close()
        self.runtime.close()
        eventually(lambda: not self.runtime.shims(), lambda: f"shims {self.runtime.shims()} end", 20)
        self.assertFalse(os.path.exists(f"/proc/{container.pid}"))
        self.assertEqual(glob.glob(f"/sys/fs/cgroup/*{container.cgroup.path}"), [])
        self.assertNotIn(self.runtime.directory, fileio.read("/proc/self/mounts"))
