# SPDX-License-Identifier: Apache-2.0
"""Limits of pods as a kubelet sets them: the sum of the containers' limits, on the pod's own cgroup, which is reached
first because the sandbox is charged to it as well. Cgroups and bundles as the runtime leaves them; no runtime needed."""
import os
import time
import uuid

from harness.case import MIB, E2eTest
from harness.cri import slice_of, write_bundle
from harness.text_time import unix
from harness.wait import eventually



class PodLimitTest(E2eTest):
    """Pods below `node`, by either of the kubelet's two drivers."""

    def setUp(self):
        super().setUp()
        self.node = self.cgroup("node")
        self.uid = str(uuid.uuid4())
        self.is_systemd = False

    def witness(self, config=""):
        return self.daemon(f'host_root = "{self.scratch}"\n{config}')

    def pod(self, limit_mb):
        """With its sandbox, which holds a little."""
        name = slice_of(self.uid) if self.is_systemd else f"pod{self.uid}"
        pod = self.raw_cgroup(name, limit_mb, self.node)
        self.memhog(self.container(pod, None, None), "--hold-mb", "1").wait_output("ready")
        return pod

    def container(self, pod, name, limit_mb):
        """name None: the sandbox."""
        number = uuid.uuid4().hex * 2
        names = {"container_name": self.prefix + name} if name else {}
        write_bundle(self.scratch, number, sandbox_name="cart-7d", sandbox_namespace="shop", sandbox_uid=self.uid, **names)
        return self.raw_cgroup(f"cri-containerd-{number}.scope" if self.is_systemd else number, limit_mb, pod)

    def assert_counted_as(self, witness, name, scope, kills=1):
        have = lambda: {(l["k8s_container_name"], l["scope"]): v for l, v in witness.scrape().values("oomwitness_oom_kills_total")
                        if v and l["k8s_container_name"].startswith(self.prefix)}
        eventually(lambda: have() == {(self.prefix + name, scope): kills}, lambda: f"{kills} of {name} as {scope}: {have()}")

    def assert_one_evidence_each(self, incident):
        """One crossing, one capture: not once for the pod and once for the container."""
        levels = [(m["reason"], m["level_percent"]) for m in incident["pressure"]["watermarks"] if m["reason"] == "level"]
        self.assertEqual(len(levels), len(set(levels)), levels)
        taken = [(c["method"], c["trigger"]) for c in incident["captures"] if c["result"] != "skipped"]
        self.assertEqual(len(taken), len(set(taken)), taken)


class OneContainer(PodLimitTest):
    def check_kill(self):
        witness, pod = self.witness(), self.pod(96)
        box = self.container(pod, "cart", 96)
        work = self.leaky_go(box, "-rate", "60")
        work.wait_killed()
        incident = self.wait_incidents(witness, 1, box)[0]
        self.assertEqual(incident["scope"], "container")
        self.assertEqual(incident["limit"], incident["limit"] | {"bytes": 96 * MIB, "owner_cgroup_path": pod.path})
        self.assertNotIn("limit_shares", incident)
        self.assertTrue(any("counts as the container's" in note for note in incident["notes"]), incident["notes"])
        self.assert_counted_as(witness, "cart", "container")
        self.assert_one_evidence_each(incident)
        with open(os.path.join(incident["_dir"], "report.md"), encoding="utf-8") as f:
            self.assertIn("because its own limit of 96.0 MiB was used up", f.read())

    def test_pods_limit_is_its_containers(self):
        self.check_kill()

    def test_pods_limit_is_its_containers_under_the_systemd_driver(self):
        self.is_systemd = True
        self.check_kill()

    def test_static_pods_limit_is_its_containers(self):
        self.uid = uuid.uuid4().hex
        self.check_kill()

    def test_verdict_is_that_of_the_same_program_in_a_plain_container(self):
        """Fast enough to be a spike beside any other load; the unit tests have a leak, fed with the same readings twice."""
        witness = self.witness()
        plain, inside = self.cgroup("plain", 64), self.container(self.pod(64), "cart", 64)
        for box in (plain, inside):
            self.memhog(box, "--hold-mb", "4", "--rate-mb-s", "30").wait_killed()
        verdicts = [self.wait_incidents(witness, 1, box)[0]["verdict"] for box in (plain, inside)]
        self.assertEqual([v and v["cause"] for v in verdicts], ["spike", "spike"], verdicts)

    def test_restarted_container_has_the_evidence_of_its_newest_life_only(self):
        witness, pod = self.witness(), self.pod(96)
        for life in range(3):
            begun = time.time() - 0.05  # both clocks are the kernel's, read by different ways
            box = self.container(pod, "cart", 96)
            work = self.leaky_go(box, "-rate", "60")
            work.wait_killed()
            incident = self.wait_incidents(witness, 1, box)[0]
            self.assertEqual(incident["scope"], "container", incident["notes"])
            self.assert_one_evidence_each(incident)
            for entry in [*incident["pressure"]["watermarks"], *incident["captures"]]:
                self.assertGreater(unix(entry["time"]), begun, f"life {life}: {entry}")
            for point in incident["series"]:
                self.assertGreater(unix(point["t"]), begun, f"life {life}: {point}")
            # A level is crossed once on the way up; that the limit is near is reported again and again.
            cooling = [c["trigger"] for c in incident["captures"] if c["reason"] == "cooldown"]
            self.assertEqual([t for t in cooling if t != "time_to_limit"], [], "of an earlier life")
            self.assertFalse([n for n in incident["notes"] if "changed at run time" in n])
            box.close()
        self.assert_counted_as(witness, "cart", "container", 3)


class SeveralContainers(PodLimitTest):
    def test_limit_that_two_fill_is_the_pods_with_each_ones_share(self):
        witness, pod = self.witness(), self.pod(96)
        leaking, holding = self.container(pod, "cart", 80), self.container(pod, "proxy", 80)
        holder = self.memhog(holding, "--hold-mb", "40")
        holder.wait_output("ready")
        work = self.memhog(leaking, "--hold-mb", "4", "--rate-mb-s", "20", oom_score_adj=500)
        work.wait_killed()
        incident = self.wait_incidents(witness, 1, leaking)[0]
        self.assertEqual(incident["scope"], "pod")
        self.assertEqual(incident["limit"]["owner_cgroup_path"], pod.path)
        shares = {s["container"]: s for s in incident["limit_shares"]}
        self.assertEqual(set(shares), {self.prefix + "cart", self.prefix + "proxy"})
        self.assertGreater(shares[self.prefix + "proxy"]["usage_bytes"], 39 * MIB)
        self.assertGreater(shares[self.prefix + "cart"]["usage_bytes"], 45 * MIB)
        self.assertEqual(shares[self.prefix + "cart"]["limit_bytes"], 80 * MIB)
        self.assertEqual(incident["verdict"]["cause"], "pod_limit")
        self.assert_counted_as(witness, "cart", "pod")
        self.assertTrue(holder.is_alive())

    def test_own_limit_beside_another_container_is_the_containers(self):
        witness, pod = self.witness(), self.pod(160)
        leaking, holding = self.container(pod, "cart", 64), self.container(pod, "proxy", 96)
        self.memhog(holding, "--hold-mb", "8").wait_output("ready")
        self.memhog(leaking, "--hold-mb", "4", "--rate-mb-s", "50").wait_killed()
        incident = self.wait_incidents(witness, 1, leaking)[0]
        self.assertEqual((incident["scope"], incident["limit"]["owner_cgroup_path"]), ("container", leaking.path))

    def test_limit_of_a_slice_above_the_pod_is_an_ancestors(self):
        witness = self.witness()
        self.node.set_limit(48 * MIB)
        box = self.container(self.pod(96), "cart", 96)
        self.memhog(box, "--hold-mb", "4", "--rate-mb-s", "50").wait_killed()
        incident = self.wait_incidents(witness, 1, box)[0]
        self.assertEqual((incident["scope"], incident["limit"]["owner_cgroup_path"]), ("ancestor", self.node.path))
        self.assertEqual(incident["verdict"]["cause"], "ancestor_limit")
