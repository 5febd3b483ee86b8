# SPDX-License-Identifier: Apache-2.0
"""Stripped Go programs in containers of the real runc, in namespaces of their own, killed at their limit.

On cgroup v2: tests/vm/run.sh KERNEL tests/e2e/run.py -k Runc.
"""
import os
import secrets
import shutil

from harness import cri, fileio, runc, tools
from harness.case import MIB
from harness.go_heap import HELD_SHARE, LEAK, SAMPLING, GoHeapTest
from harness.wait import TIME_FACTOR, eventually

# As containerd's shim lays them out below its state directory.
KILL_DEADLINE_S = 240  # a full container may thrash for a minute where there is no KVM
POD_UID = "7b0a4e1c-3f5d-4c7e-9a61-52d8e0b9c3f4"


class Runc(GoHeapTest):
    RATE = round(40 / TIME_FACTOR)  # MiB/s: 2 s of a real CPU to the limit, time for what is taken on the way

    def setUp(self):
        if runc.why_not():
            self.skipTest(runc.why_not())
        super().setUp()
        self.program = tools.go_program("1.26", "strip")
        self.node = self.cgroup("node")

    def leak(self, rate=RATE):
        return ("-listen", "", "-rate", rate, "-profile-rate", SAMPLING)

    def idle(self):
        return (*self.leak(), "-limit-mb", 8)

    def container(self, container_id, bundle, annotations=None):
        made = runc.Container(container_id, bundle, self.node, self.program, self.LIMIT_MB * MIB, annotations)
        self._stack.enter_context(made)
        self.cgroups.append(made.cgroup)
        return made

    def pod_container(self):
        """Named as containerd names it, in a bundle where the resolver expects one."""
        container_id = secrets.token_hex(32)
        return self.container(container_id, os.path.join(self.scratch, cri.BUNDLES, container_id), cri.annotations(
            container_type="container", container_name=self.prefix + "collector", sandbox_name="otelcol-5d",
            sandbox_namespace="payments", sandbox_uid=POD_UID, image_name="example/otelcol:2"))

    def pod_daemon(self):
        return self.daemon(f'host_root = "{self.scratch}"\n')

    def wait_ended(self, container, pid):
        def has_ended():
            try:
                return fileio.read_bytes(f"/proc/{pid}/stat").rpartition(b") ")[2][:1] in (b"Z", b"X")
            except (FileNotFoundError, ProcessLookupError):
                return True

        eventually(has_ended, lambda: f"pid {pid} ends; {container.describe()}", KILL_DEADLINE_S)

    def assert_one_complete(self, witness, container, pid, is_init=True):
        """(incident, capture): one incident of one victim by the host's pid, its whole heap, in one walk."""
        incident, capture = self.assert_complete(witness, container.cgroup)
        self.assertEqual(incident["scope"], "container")
        self.assertEqual(incident["coverage"]["method"], "at_kill")
        self.assertGreaterEqual(incident["coverage"]["ratio"], HELD_SHARE)
        self.assertEqual([(v["pid"], v["is_init"]) for v in incident["victims"]], [(pid, is_init)])
        self.assertEqual((capture["pid"], incident["trigger"]["pid"]), (pid, pid))
        self.assertEqual(incident["limit"]["bytes"], container.cgroup.limit_bytes)
        self.assertEqual(tools.pprof_top(self.profile_of(incident, capture))[0][1], LEAK)
        self.assert_stays_counted(witness, 1)
        self.assertEqual(len(self.incidents_of(witness)), 1)
        captures = [(c["method"], c["reason"] or c["result"]) for c in incident["captures"]]
        print(f"      {os.uname().release}: coverage {incident['coverage']['ratio']}, captures {captures}", flush=True)
        return incident, capture

    def assert_live_before(self, incident, pid):
        live = [c for c in incident["captures"] if c["method"] == "live" and c["result"] == "ok"]
        self.assertTrue(live, [(c["method"], c["result"], c["reason"]) for c in incident["captures"]])
        for capture in live:
            self.assertEqual(capture["pid"], pid)
            self.assertLess(capture["time"], incident["time"])
            self.assertGreater(capture["inuse_bytes"], 0)

    def assert_pod_is_known(self, incident, container):
        known = incident["container"]
        self.assertEqual((known["id"], known["runtime"]), (container.id, "containerd"))
        self.assertEqual((known["name"], known["image"]), (self.prefix + "collector", "example/otelcol:2"))
        pod = incident["pod"]
        self.assertEqual((pod["namespace"], pod["name"], pod["uid"]), ("payments", "otelcol-5d", POD_UID))

    def test_container_of_a_pod_is_named_and_its_heap_complete(self):
        witness, container = self.pod_daemon(), self.pod_container()
        pid = container.start(*self.leak())
        self.wait_ended(container, pid)
        incident, _ = self.assert_one_complete(witness, container, pid)
        self.assert_pod_is_known(incident, container)
        self.assert_live_before(incident, pid)
        self.assertEqual(container.status(), "stopped")

    def test_container_that_no_runtime_knows_has_its_cgroups_name(self):
        """Plain runc leaves no bundle to be found; an id of its own choosing is no container id."""
        witness = self.daemon()
        name = self.prefix + "plain"
        container = self.container(name, os.path.join(self.scratch, "bundle"))
        pid = container.start(*self.leak())
        self.wait_ended(container, pid)
        incident, _ = self.assert_one_complete(witness, container, pid)
        self.assertEqual((incident["container"]["id"], incident["container"]["runtime"]), (None, None))
        self.assertEqual(incident["container"]["cgroup_path"], f"{self.node.path}/{name}")
        self.assert_live_before(incident, pid)

    def test_second_process_of_the_container_is_walked_and_the_first_lives_on(self):
        if runc.why_no_exec():
            self.skipTest(runc.why_no_exec())
        witness, container = self.pod_daemon(), self.pod_container()
        first = container.start(*self.idle())
        eventually(lambda: "idle" in container.text(), lambda: f"the first process idles; {container.describe()}")
        second = container.execute(*self.leak())
        self.wait_ended(container, second)
        incident, _ = self.assert_one_complete(witness, container, second, is_init=False)
        self.assert_pod_is_known(incident, container)
        self.assertEqual(container.status(), "running")
        self.assertNotEqual(first, second)

    def test_container_deleted_at_once_after_the_kill_is_complete_and_named(self):
        """As CRI does it: cgroup, bundle and runtime state go with the process."""
        witness, container = self.pod_daemon(), self.pod_container()
        status = container.run(*self.leak()).wait(KILL_DEADLINE_S)
        is_removed = not os.path.exists(container.cgroup.directory)
        pid = container.running_pid()
        shutil.rmtree(container.bundle)
        self.assertEqual(status, 137, container.text())
        self.assertTrue(is_removed, "runc has not removed the cgroup")
        container.cgroup.note_gone(kills=1)
        incident, _ = self.assert_one_complete(witness, container, pid)
        self.assert_pod_is_known(incident, container)
        self.assert_live_before(incident, pid)

    def test_container_there_before_the_daemon_is_named_and_complete(self):
        container = self.pod_container()
        pid = container.start(*self.leak(rate=8))
        witness = self.pod_daemon()
        self.wait_ended(container, pid)
        incident, _ = self.assert_one_complete(witness, container, pid)
        self.assert_pod_is_known(incident, container)
