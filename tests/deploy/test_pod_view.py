# SPDX-License-Identifier: Apache-2.0
"""What a pod of the least-capability overlay sees and may do, made by hand: no kubelet is needed for it.

Its mounts and configuration, capabilities, memory limit, and a cgroup namespace of its own, as a runtime gives to a
container that is not privileged.
"""
import os

import manifests
import unit_file
from harness.case import E2eTest
from harness.process_state import status_bytes
from harness.wait import eventually

# The mounts of the pod at their places below a folder that stands for the container's root.
ENTER = """set -e
echo $$ >"$POD_PROCS"
mount --make-rprivate /
for from in /sys/fs/cgroup /run; do
  mkdir -p "$HOST$from"
  mount --rbind "$from" "$HOST$from"
  mount -o remount,bind,ro "$HOST$from"
done
exec unshare -C "$@"
"""


class PodView(E2eTest):
    def setUp(self):
        super().setUp()
        self.objects = manifests.overlay("least-capability")
        self.container = manifests.container_of(self.objects)

    def start_pod(self, name="pod", without=()):
        resources = self.container["resources"]
        self.pod = self.cgroup(name, manifests.bytes_of(resources["limits"]["memory"]) >> 20)
        self.host = os.path.join(self.scratch, "host")
        os.environ.update(POD_PROCS=self.pod.procs_file(), HOST=self.host)
        config = manifests.config_of(self.objects).replace('"/host', f'"{self.host}')
        self.assertEqual(config.count(self.host), 2)
        capabilities = unit_file.with_capabilities(manifests.least_capabilities() - set(without))
        limit = ["prlimit", "--memlock=65536"]  # a small one, as a pod may get
        return self.daemon(config, data_dir=os.path.join(self.scratch, name),
                           prefix=["unshare", "-m", "sh", "-c", ENTER, "sh", *limit, *capabilities])

    def test_a_program_that_ran_before_is_captured_and_named(self):
        box = self.cgroup("box", 96)
        victim = self.leaky_go(box, "-rate", "12")
        victim.wait_running()
        witness = self.start_pod()
        victim.wait_killed()
        incident = self.wait_incidents(witness, 1, box)[0]
        captures = lambda: {(c["method"], c["result"]) for c in self.incidents_of(witness, box)[0]["captures"]}
        eventually(lambda: {("live", "ok"), ("http", "ok"), ("at_kill", "ok")} <= captures(), captures)
        self.assertEqual(incident["victims"][0]["exe"], os.path.realpath(victim.argv[0]))
        self.check_memory()

    def test_a_sibling_that_ran_before_is_known_to_be_in_the_container(self):
        """Its path in /proc is relative to the reader's cgroup namespace: read in the pod's own it leads nowhere."""
        box = self.cgroup("shared", 128)
        sibling = self.leaky_go(box, "-prefill-mb", "70", "-limit-mb", "71")
        sibling.wait_running()
        eventually(lambda: box.usage() > 70 << 20, lambda: f"the sibling holds its memory, {box.usage()}")
        witness = self.start_pod()
        self.memhog(box, "--rate-mb-s", "40", "--leak-mb", "66")
        sibling.wait_killed()
        # The kernel may kill the other one too, while the first one's memory is not free yet: another incident.
        mine = lambda: self.incidents_of(witness, box)
        eventually(lambda: sum(len(i["victims"]) for i in mine()) == self.kernel_kills(), lambda: f"all kills: {mine()}")
        incident, = [i for i in mine() if i["victims"][0]["pid"] == sibling.pid]
        live = [c for c in incident["captures"] if c["method"] == "live" and c["result"] == "ok"]
        self.assertIn(sibling.pid, {c["pid"] for c in live}, incident["captures"])

    def check_memory(self):
        """It asks for what it uses, and its limit is far away."""
        resources = self.container["resources"]
        usage = self.pod.usage()
        self.assertLess(usage, manifests.bytes_of(resources["requests"]["memory"]))
        self.assertLess(usage * 3, manifests.bytes_of(resources["limits"]["memory"]))

    def test_its_memory_is_locked_and_would_not_be_without_ipc_lock(self):
        self.assertGreater(status_bytes(self.start_pod().pid, "VmLck"), 1024 << 10)
        self.assertEqual(status_bytes(self.start_pod("less", without=["IPC_LOCK"]).pid, "VmLck"), 0)
