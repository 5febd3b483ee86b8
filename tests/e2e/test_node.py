# SPDX-License-Identifier: Apache-2.0
"""Node.js services: what fills them by constructor, and the memory of their buffers, read from outside."""
import os
import re
import shutil
import signal
import unittest

from harness import tools
from harness.case import E2eTest
from harness.daemon import capture_with, run_cli

NODE = shutil.which("node") or shutil.which("nodejs")


@unittest.skipUnless(NODE, "there is no node here")
class Node(E2eTest):
    long = True

    def service(self, box, mode, per_second):
        # V8 takes a quarter of the container as its heap's maximum otherwise, and ends itself there.
        tools.read_ahead(os.path.realpath(NODE))
        return self.start([NODE, "--max-old-space-size=1024", os.path.join(tools.WORKLOADS, "node", "service.js"), mode,
                           str(per_second)], box)

    def analysed(self, witness, box):
        incident = self.filled_incident(witness, box)
        self.assertEqual(incident["analyses"][-1]["of"], "v8", incident["analyses"])
        return incident

    def test_class_whose_objects_are_kept_is_named(self):
        witness = self.daemon()
        box = self.cgroup("node-sessions", 150)
        self.service(box, "sessions", 100).wait_killed()
        incident = self.analysed(witness, box)
        session = next((f for f in incident["fillers"] if f["name"] == "Session" and f["kind"] == "holder"), None)
        self.assertIsNotNone(session, incident["fillers"])
        self.assertGreater(session["share"], 0.5)
        self.assertGreater(session["count"], 60_000)
        self.assertRegex(incident["answer"]["sentence"],
                         r"[Aa] Map of \d+ Session held as `kept` in service.js filled \d+ %")
        self.assertGreater(incident["composition"]["named_ratio"], 0.8)
        for text in ("customer-", "reader", "item"):
            self.assertNotIn(text, str(incident["fillers"]))

    def test_memory_of_kept_buffers_is_named(self):
        witness = self.daemon()
        box = self.cgroup("node-buffers", 150)
        self.service(box, "buffers", 100).wait_killed()
        incident = self.analysed(witness, box)
        parts = {part["name"]: part["bytes"] for part in incident["composition"]["parts"]}
        self.assertGreater(parts["ArrayBuffers"], 50 << 20, parts)
        self.assertRegex(incident["answer"]["sentence"], r"[Aa]n array of \d+ Buffer held as `buffers` in service.js filled")

    def test_heap_of_more_shapes_than_are_counted_is_still_a_heap_of_v8(self):
        """As a bundler of thousands of modules has: 1024 MiB hold a million."""
        program = self.service(self.cgroup("node-shapes", 1024), "shapes", 1000)
        self.daemon()
        text = capture_with(program.pid, "those of other shapes are not counted")
        self.assertGreater(float(re.search(r"([\d.]+) % of it has a name", text)[1]), 80, text)

    def test_service_in_balance_is_read_by_hand_and_is_no_incident(self):
        witness = self.daemon()
        box = self.cgroup("node-balance", 256)
        program = self.service(box, "healthy", 100)
        printed = capture_with(program.pid, r" [45]\d\d\d\d holder +Session")
        self.assertIn("V8 heap: objects", printed)
        os.kill(program.pid, signal.SIGSTOP)
        self.addCleanup(os.kill, program.pid, signal.SIGCONT)
        before = box.usage()
        run_cli("capture", "--pid", program.pid)
        self.assertLess(box.usage() - before, 256 << 10)
        self.assertEqual(self.incidents_of(witness, box), [])
