# SPDX-License-Identifier: Apache-2.0
"""The node itself runs out of memory: only in a VM of tests/vm, only if it has little (OOMW_VM_MEMORY_MB=512)."""
import os

from harness.case import MIB
from harness.process_state import memory_total
from harness.semantics import SemanticsTest

# Handed by tests/vm/run.sh to its VM; no other machine has it.
IN_TEST_VM = "/sys/firmware/qemu_fw_cfg/by_name/opt/script"
MOST_MEMORY = 1024 * MIB


class NodeWide(SemanticsTest):
    def setUp(self):
        if not os.path.exists(IN_TEST_VM):
            self.skipTest("would run this machine out of memory: only in a VM of tests/vm")
        if memory_total() > MOST_MEMORY:
            self.skipTest(f"this VM has {memory_total() >> 20} MB, too many to fill (OOMW_VM_MEMORY_MB)")
        super().setUp()

    def test_node_without_memory_is_scope_node(self):
        """And no cgroup is blamed because its own limit happens to be near."""
        box, full = self.cgroup("hungry"), self.cgroup("full", 18)  # with the pages of its program and the kernel's: 2 MB, seen
        holder = self.hog(full, "--hold-mb", 14)
        work = self.hog(box, "--hold-mb", 8, "--rate-mb-s", 0, "--huge", 1, oom_score_adj=1000)
        self.go()
        work.wait_killed()
        incident = self.wait_incidents(self.witness, 1)[0]
        self.assertEqual(incident["scope"], "node")
        self.assertEqual(incident["container"]["cgroup_path"], box.path)
        self.check_owner(incident, None, None)
        self.assertEqual(incident["verdict"]["cause"], "node")
        self.check_victims(incident, [work.identity])
        self.check_series(incident, memory_total())
        self.check_counts(box, "node")
        said = self.decision_of(incident)
        self.assertEqual((said.constraint, said.owner_path, said.victim_path), ("CONSTRAINT_NONE", None, box.path))
        if incident["trigger"]["pid"] is not None:
            self.assertEqual(incident["trigger"]["comm"], said.trigger_comm)
        self.assertTrue(holder.is_alive())
