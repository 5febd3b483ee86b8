# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian in C, killed at their real work: nearly all of their memory has a name. The others, which take longer to
fetch and to run, are in tests/bench/debian_programs.py."""
import os
import sys
import types

from harness import tools
from harness.case import E2eTest
from harness.daemon import free_port

sys.path.insert(0, os.path.join(tools.TREE, "tests/bench"))
import debian_programs  # noqa: E402 (the path comes first)


class DebianProgramTest(E2eTest):
    def killed(self, name):
        """{part: bytes} of the last reading of that program."""
        port = free_port()
        run = debian_programs.Run(next(p for p in debian_programs.programs(port) if p.name == name))
        root = tools.supplied("debian_root.sh", run.program.root, *debian_programs.PACKAGES[run.program.root])
        # Not the prefix of this test's own cgroups: those are all known to its base, which counts their kills.
        site = types.SimpleNamespace(scratch=self.scratch, prefix="debian-" + self.prefix)
        debian_programs.carry_out(site, self.daemon(), root, run, port)
        self.assertTrue(run.is_met, (run.problem, run.composition))
        return {part["name"]: part["bytes"] for part in run.composition["parts"]}

    def test_gawk_fills_blocks_of_malloc(self):
        self.assertGreater(self.killed("gawk")["malloc: in use"], 50 << 20)

    def test_redis_has_a_malloc_of_its_own(self):
        self.assertGreater(self.killed("redis")["jemalloc or mappings of its own"], 30 << 20)
