# SPDX-License-Identifier: Apache-2.0
"""Every kind of pod under a real kubelet: what is known of its kill, and whose limit it was.

Where all containers have limits, kubelet limits the pod's cgroup to their sum. With one container that limit is hit
first, since the sandbox is charged to it too; it counts as the container's own: no user knows another.
"""
import datetime
import json

from kube import child_victim, objects, programs
from kube.case import ClusterTest, SharedPodsTest, running
from kube.gate import Gate
from kube.objects import SHELL, container, idle, leaking, leaking_times
from kube.pki import NODE
from kube.pod_assertions import LIMIT_MB, MIB, PodAssertions

from harness.wait import eventually

CRON_JOB = "apis/batch/v1beta1/namespaces/{}/cronjobs/report/status"


class PodKinds(PodAssertions, SharedPodsTest):
    expected_kills = 15

    def create_all(self):
        child_victim.create_once(self)  # asked for by test_unreported_kills.py, half a minute later
        self.create_missed_cron_job()
        self.create(
            objects.pod("single", leaking()),
            objects.pod("all-limited", leaking(), idle(limit_mb=32)),
            objects.pod("some-limited", leaking(), idle()),
            objects.pod("unlimited", idle("orders"), idle()),
            objects.pod("guaranteed", self.guaranteed()),
            objects.pod("init", idle("orders", limit_mb=32), restartPolicy="OnFailure",
                        initContainers=[leaking_times(1, "migrate", after="/bin/sh -c :")]),
            objects.pod("host-network", leaking(args=["-listen", ""]), hostNetwork=True),
            objects.pod("shared-memory", leaking(), idle(limit_mb=LIMIT_MB, hold_mb=20),
                        initContainers=[self.filling(60)], volumes=[{"name": "tmp", "emptyDir": {"medium": "Memory"}}]),
            objects.pod("debugged", idle("orders", limit_mb=LIMIT_MB)),
            objects.workload("Deployment", "cart", leaking_times(2)),
            objects.workload("StatefulSet", "store", leaking_times(1)),
            objects.workload("DaemonSet", "agent", leaking_times(1)),
            objects.job("backup", leaking()),
        )
        self.write_static_pod()
        self.debug("debugged")

    @staticmethod
    def guaranteed():
        wanted = {"memory": f"{LIMIT_MB}Mi", "cpu": "50m"}
        return leaking(resources={"limits": wanted, "requests": wanted})

    @staticmethod
    def filling(mb):
        """Ends and leaves so much in a volume in memory, which the pod pays from then on, and no container."""
        return container("fill", [SHELL, "-c", f"dd if=/dev/zero of=/tmp/file bs=1048576 count={mb}"], LIMIT_MB + 32,
                         volumeMounts=[{"name": "tmp", "mountPath": "/tmp"}])

    def create_missed_cron_job(self):
        """Due once a day, the last time 5 minutes ago, which it is made to have missed: its controller makes up for that."""
        due = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=5)
        self.create(objects.cron_job("report", f"{due.minute} {due.hour} * * *", leaking()))
        before = (due - datetime.timedelta(minutes=5)).strftime("%Y-%m-%dT%H:%M:%SZ")
        self.api.call("PATCH", CRON_JOB.format(self.namespace), {"status": {"lastScheduleTime": before}},
                      "application/merge-patch+json")

    def write_static_pod(self):
        made = objects.pod("proxy", leaking())
        made["metadata"]["namespace"] = self.namespace
        self.node.write_static_pod("proxy.json", json.dumps(made))
        type(self).addClassCleanup(self.node.write_static_pod, "proxy.json", "")

    def debug(self, name):
        """What `kubectl debug` does: a container without limits beside those of a pod that runs."""
        self.wait_pods(lambda pods: any(p["metadata"]["name"] == name and p["status"]["phase"] == "Running" for p in pods),
                       f"{name} runs")
        added = {"name": "debugger", "image": objects.VICTIM, "imagePullPolicy": "Never",
                 "command": [objects.LEAK, "-rate", "40", "-listen", ""]}
        body = {"apiVersion": "v1", "kind": "EphemeralContainers", "metadata": {"name": name}, "ephemeralContainers": [added]}
        self.api.call("PUT", f"api/v1/namespaces/{self.namespace}/pods/{name}/ephemeralcontainers", body)

    # --- what is asked of each

    def assert_pods_limit(self, incident, limit_mb):
        """No container's own limit was hit: it is reported as such, and not blamed on a foreign ancestor."""
        self.assertEqual((incident["scope"], incident["limit"]["bytes"]), ("pod", limit_mb * MIB), incident["limit"])
        self.assertNotEqual(incident["verdict"]["cause"], "ancestor_limit")

    # --- the kinds

    def test_single_container(self):
        self.assert_containers_limit(self.assert_named("single")[0])

    def test_two_containers_with_limits(self):
        self.assert_containers_limit(self.assert_named("all-limited")[0])

    def test_two_containers_one_of_them_with_a_limit(self):
        self.assert_containers_limit(self.assert_named("some-limited")[0])

    def test_pod_without_limits_is_not_killed(self):
        self.wait_pods(lambda pods: self.pod("unlimited")["status"]["phase"] == "Running", "unlimited runs")
        self.assertEqual(self.incidents_of_pod("unlimited"), [])

    def test_guaranteed_pod(self):
        self.assert_containers_limit(self.assert_named("guaranteed")[0])

    def test_init_container_is_named_and_its_pod_goes_on(self):
        self.assert_containers_limit(self.assert_named("init", "migrate")[0])
        self.wait_pods(lambda pods: self.pod("init")["status"]["phase"] == "Running", "the pod goes on")

    def test_host_network(self):
        self.assert_containers_limit(self.assert_named("host-network")[0])

    def test_pods_limit_that_no_container_fills_alone(self):
        """60 MiB of a volume in memory, 20 of the one and what is left for the other: 128 in all, and neither is at 64."""
        self.assert_pods_limit(self.assert_named("shared-memory")[0], 2 * LIMIT_MB)

    def test_ephemeral_container_fills_the_pods_limit(self):
        """It has no limit itself, and pays from the others'."""
        self.assert_pods_limit(self.assert_named("debugged", "debugger")[0], LIMIT_MB)

    def test_static_pod_is_known_by_the_nodes_uid(self):
        incident = self.assert_named(f"proxy-{NODE}", owner=("Node", NODE))[0]
        self.assert_containers_limit(incident)

    # --- the workloads

    def test_deployment_with_restarts(self):
        pod = self.pod("cart")
        replica_set = pod["metadata"]["ownerReferences"][0]["name"]
        incidents = self.assert_named("cart", count=2, owner=("ReplicaSet", replica_set), workload=("Deployment", "cart"))
        self.assertEqual(len({i["container"]["id"] for i in incidents}), 2)
        for incident in incidents:
            self.assertEqual((incident["scope"], incident["limit"]["bytes"]), ("container", LIMIT_MB * MIB))
        self.assertEqual(self.kills_of(incidents[0]), [("orders", "container", 2)])

    def test_second_life_is_not_told_of_with_what_happened_in_the_first(self):
        """The pod's cgroup outlives the container; what was seen in it before belongs to the other incident."""
        first, second = self.wait_incidents_of_pod("cart", 2)
        shown = [*second["captures"], *second["pressure"]["watermarks"], *second["series"]]
        self.assertEqual([one for one in shown if one.get("time", one.get("t")) <= first["time"]], [])

    def test_stateful_set(self):
        self.assert_containers_limit(self.assert_named("store-0", owner=("StatefulSet", "store"))[0])

    def test_daemon_set(self):
        self.assert_containers_limit(self.assert_named("agent", owner=("DaemonSet", "agent"))[0])

    def test_job(self):
        self.assert_containers_limit(self.assert_named("backup", owner=("Job", "backup"))[0])

    def test_cron_jobs_job(self):
        job = self.pod("report")["metadata"]["ownerReferences"][0]["name"]
        incident = self.assert_named("report", owner=("Job", job), workload=("CronJob", "report"))[0]
        self.assert_containers_limit(incident)

    def test_kubernetes_says_the_same(self):
        """Each container that ended by the kernel's hand has the status OOMKilled, and no disagreement is claimed.

        A kubelet on a busy node may forget a container that was killed in its first seconds: it is counted as started
        again, with nothing said of how it ended before. One of the seven may be such.
        """
        def reasons_of(name):
            status = self.pod(name)["status"]["containerStatuses"][0]
            ended = [status[when]["terminated"] for when in ("state", "lastState") if "terminated" in status[when]]
            return [end["reason"] for end in ended] or ["forgotten"] * min(status["restartCount"], 1)

        names = ("single", "all-limited", "some-limited", "guaranteed", "store", "agent", "backup")
        for name in names:
            eventually(lambda: {"OOMKilled", "forgotten"} & set(reasons_of(name)),
                       lambda: f"{name} is OOMKilled: {self.pod(name)['status']}")
        forgotten = [name for name in names if "OOMKilled" not in reasons_of(name)]
        self.assertLessEqual(len(forgotten), 1, [(name, reasons_of(name)) for name in forgotten])
        self.assertEqual(self.disagreements(), {})


class InPlaceResize(ClusterTest):
    def setUp(self):
        """Asks before an overlay is rolled out."""
        if not programs.why_not() and "pods/resize" not in self.resources():
            self.skipTest("the API server has no pods/resize: no limit of a running container can be changed")
        super().setUp()

    @staticmethod
    def resources():
        return [resource["name"] for resource in running.get().node.api.get("api/v1")["resources"]]

    def test_limit_raised_in_place_is_the_limit_that_was_hit(self):
        """On API servers that have pods/resize; no other can change the limit of a container that runs."""
        gate = self.closing(Gate(self.node, self.namespace))
        self.create(gate.pod("orders"))
        self.wait_pods(lambda pods: any(p["status"]["phase"] == "Running" for p in pods), "orders runs")
        raised = {"spec": {"containers": [{"name": "orders", "resources": {"limits": {"memory": "96Mi"}}}]}}
        self.api.call("PATCH", f"api/v1/namespaces/{self.namespace}/pods/orders/resize", raised,
                      "application/strategic-merge-patch+json")
        self.wait_pods(lambda pods: "96Mi" in json.dumps(pods[0]["status"].get("containerStatuses", [])), "resized")
        gate.open("orders", 1)
        incident = self.wait_incidents_of_pod("orders")[0]
        self.assertEqual((incident["scope"], incident["limit"]["bytes"]), ("container", 96 * MIB), incident["limit"])
