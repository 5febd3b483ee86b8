# SPDX-License-Identifier: Apache-2.0
"""Names that a workload chooses to hurt whoever prints them."""
import json
import os
import shutil
import unicodedata

from harness import fileio, tools
from harness.case import E2eTest
from harness.daemon import run_cli

HOG = ("--rate-mb-s", "200")


class HostileNames(E2eTest):
    def names(self):
        room = 255 - len(self.prefix)
        return {
            "quotes": 'q"u\'o\\te`$(id)<b>{}',
            "controls": "tab\tesc\x1b[31mbell\x07\u009b31m",
            "longest": "x" * room,
            "not_utf8": b"\xff\xfe\xc3(".decode(errors="surrogateescape"),
            "dots": "..%2f..%2fetc",
            "unicode": "ä\u202eevil\u2028",
        }

    def test_hostile_cgroup_names_stay_data(self):
        witness = self.daemon(args=["--json"])
        boxes = {what: self.cgroup(name, 32) for what, name in self.names().items()}
        for box in boxes.values():
            self.memhog(box, *HOG).wait_killed()
        self.check(witness, len(boxes))
        self.assertEqual(self.counted(witness), len(boxes))
        self.check_text(witness.log())

    def test_path_longer_than_an_event_carries_is_resolved(self):
        witness = self.daemon()
        box = None
        for _ in range(4):
            box = self.cgroup("d" * (255 - len(self.prefix)), parent=box)
        box.set_limit(32 << 20)
        self.memhog(box, *HOG).wait_killed()
        self.check(witness, 1)
        incident = self.incidents_of(witness)[0]
        self.assertEqual(incident["container"]["cgroup_path"], box.path)

    def test_hostile_exe_and_arguments_stay_data(self):
        witness, box = self.daemon(), self.cgroup("argv", 32)
        name = os.path.join(self.scratch.encode(), b'e\nvi"l\xff\x1b[31m')
        shutil.copy(tools.memhog(), name)
        exe = name.decode(errors="surrogateescape")
        # memhog ignores flags' values it cannot read; a wait file of any name is as good as none.
        go = os.path.join(self.scratch, "go\n| injected | row |\n# title\x1b[2J")
        open(go, "w").close()
        self.start([exe, *HOG, "--wait-file", go], box).wait_killed()
        self.check(witness, 1)
        victim = self.incidents_of(witness)[0]["victims"][0]
        self.assertIn("injected", victim["cmdline"])

    def check(self, witness, count):
        for incident in self.wait_incidents(witness, count):
            self.check_files(incident)
        if tools.find_program("promtool"):
            self.assertEqual(tools.promtool_check(witness.scrape().text), (0, ""))
        for command in (["incidents"], ["incidents", "--json"]):
            self.check_printable(run_cli(*command, "--data-dir", witness.data_dir))

    def check_files(self, incident):
        directory = os.path.basename(incident["_dir"])
        self.assertTrue(directory.isascii() and directory.isprintable() and len(directory) <= 200, directory)
        json.loads(fileio.read_bytes(os.path.join(incident["_dir"], "incident.json")).decode("utf-8"))
        report = fileio.read_bytes(os.path.join(incident["_dir"], "report.md")).decode("utf-8")
        self.assertFalse(set(report) & set("\x1b\x07\x00\u202e"), "control characters in report.md")
        self.assertNotIn("\n# title", report)
        data_dir = os.path.dirname(os.path.dirname(incident["_dir"]))
        for form in ([], ["--full"], ["--markdown"], ["--json"]):
            self.check_printable(run_cli("show", incident["id"], *form, "--data-dir", data_dir))

    def check_printable(self, done):
        self.assertEqual(done.returncode, 0, done)
        self.check_text(done.stdout + done.stderr)

    def check_text(self, text):
        text.encode("utf-8")  # fails on bytes that are none
        steering = [c for c in text if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")]
        self.assertEqual(steering, [], text)


