# SPDX-License-Identifier: Apache-2.0
"""memory.oom.group of cgroup v2 under a real kubelet: as that one leaves it, and as newer ones set it for each container."""
import os

from harness import fileio
from kube.gate import GatedTest
from kube.objects import HOG, SHELL
from kube.pod_assertions import PodAssertions
from kube.processes import pids_of

_ROOT = "/sys/fs/cgroup"
# In a shell that lives on: a container of two processes.
_HOG_IN_SHELL = [SHELL, "-c", f"'{HOG} --hold-mb 4 --rate-mb-s 40 & wait; while :; do sleep 1; done'"]


def group_file(pid):
    """memory.oom.group of the cgroup that the process lives in."""
    path = next(line.strip().partition("::")[2] for line in fileio.lines(f"/proc/{pid}/cgroup") if line.startswith("0::"))
    return path, f"{_ROOT}{path}/memory.oom.group"


class OomGroups(PodAssertions, GatedTest):
    def setUp(self):
        if not os.path.exists(f"{_ROOT}/cgroup.controllers"):
            self.skipTest("cgroup v1 has no memory.oom.group (tests/run.sh --only cluster-vm)")
        super().setUp()

    def start_held(self, name):
        """(path of its container's cgroup, that one's memory.oom.group as kubelet left it)."""
        self.create_held(name, leak=_HOG_IN_SHELL, restartPolicy="Never")
        shell = min(pids_of(self.pod(name)["metadata"]["uid"], os.path.basename(SHELL)))
        path, file = group_file(shell)
        return path, file, fileio.read(file).strip()

    def test_this_kubelet_leaves_it_and_one_process_dies(self):
        path, _, group = self.start_held("single")
        self.assertEqual(group, "0", "kubelet sets it from 1.28 on")
        self.gate.open("single")
        incident = self.assert_named("single", "single")[0]
        self.assert_containers_limit(incident)
        self.assertEqual(incident["container"]["cgroup_path"], path)
        self.assertEqual([v["comm"] for v in incident["victims"]], [HOG.strip("/")])
        self.assertIsNone(incident.get("oom_group_cgroup_path"))

    def test_set_for_the_container_all_its_processes_are_victims_of_one_incident(self):
        path, file, _ = self.start_held("whole")
        fileio.write(file, "1")
        self.gate.open("whole")
        incident = self.assert_named("whole", "whole")[0]
        self.assertEqual(incident["oom_group_cgroup_path"], path)
        self.assertEqual(sorted(v["comm"] for v in incident["victims"]), sorted([HOG.strip("/"), os.path.basename(SHELL)]))
        self.wait_pods(lambda pods: self.pod("whole")["status"]["phase"] == "Failed", "the container ended")
