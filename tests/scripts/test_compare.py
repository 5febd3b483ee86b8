# SPDX-License-Identifier: Apache-2.0
"""What tests/compare.sh says of two builds that differ in what they make of one incident."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

from harness import fileio, tools

sys.path.insert(0, os.path.join(tools.TREE, "tests", "compare"))
import compare  # noqa: E402

PROGRAM = """#!/usr/bin/env python3
import os, sys
out = os.path.join(sys.argv[2], "one")
os.makedirs(out)
for name, text in {files!r}.items():
    open(os.path.join(out, name), "w").write(text)
sys.exit({status})
"""
JSON = {"answer": {"sentence": "It leaks."}, "places": [{"code": "a", "bytes": 1}, {"code": "b", "bytes": 2}]}


class Compare(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name
        os.makedirs(os.path.join(self.scratch, "kept", "incidents", "one"))

    def program(self, name, status=0, **files):
        path = os.path.join(self.scratch, name)
        fileio.write(path, PROGRAM.format(files={key.replace("_", "."): text for key, text in files.items()}, status=status))
        os.chmod(path, 0o755)
        return path

    def said(self, old, new, expected=""):
        """(exit status, what it printed)"""
        rows = os.path.join(self.scratch, "expected.tsv")
        fileio.write(rows, expected)
        with tempfile.TemporaryDirectory() as out, contextlib.redirect_stdout(io.StringIO()) as printed:
            status = compare.main(os.path.join(self.scratch, "kept"), self.program("old", **old), self.program("new", **new),
                                  out, rows)
        return status, printed.getvalue()

    def of_json(self, change, expected=""):
        changed = json.loads(json.dumps(JSON))
        change(changed)
        return self.said({"incident_json": json.dumps(JSON)}, {"incident_json": json.dumps(changed)}, expected)

    def test_both_builds_are_scored_where_it_is_known_what_is_right(self):
        file = "py-cache-by-url/judged.txt"
        old = {file: "undersized 0.50\n  The limit is too small.\n", "other/judged.txt": "leak 0.90\n  It leaks.\n"}
        new = {file: "leak 0.90 spike=0.20\n  Memory leak in shop: RENDERED grows.\n  culprit: render_page (app.py:3) \n"}
        self.assertEqual(compare.marks_lines(old, new), ["1 labelled runs before: cause WRONG 1, named nobody 1", "1 labelled runs now: cause right 1, named right 1",
                                                         "  py-cache-by-url: cause WRONG, named nobody -> cause right, named right"])
        blamed = {file: "leak 0.90\n  Memory leak in shop: about 9 MiB.\n  culprit: log_request (app.py:9) \n"}
        self.assertEqual(compare.marks_lines(blamed, blamed)[0], "1 labelled runs before: cause right 1, named WRONG 1")

    def test_the_same_is_no_difference(self):
        self.assertEqual(self.of_json(lambda _: None)[0], 0)

    def test_a_field_of_json_is_named_with_both_values(self):
        status, text = self.of_json(lambda one: one["places"][1].update(code="c"))
        self.assertEqual(status, 1)
        self.assertIn("DIFFERS: incident.json:places.*.code in 1\n    one: 'b' -> 'c'\n", text)

    def test_an_element_more_and_another_order_of_keys_are_differences(self):
        self.assertIn("incident.json:places.length", self.of_json(lambda one: one["places"].append({}))[1])
        status, text = self.of_json(lambda one: one.update(answer=one.pop("answer")))
        self.assertEqual((status, "DIFFERS: incident.json in 1" in text), (1, True), text)

    def test_expected_is_green_and_stale_is_red(self):
        row = "incident.json:answer.*\tthe sentence is shorter\n"
        self.assertEqual(self.of_json(lambda one: one["answer"].update(sentence="Leaks."), row)[0], 0)
        status, text = self.of_json(lambda _: None, row)
        self.assertEqual((status, "STALE: nothing differs by incident.json:answer.*" in text), (1, True), text)

    def test_text_is_shown_by_its_first_line_that_differs_and_a_missing_file_is_a_difference(self):
        status, text = self.said({"report_md": "a\nb\nc"}, {"report_md": "a\nB\nc"})
        self.assertEqual((status, "one: 'b' -> 'B'" in text), (1, True), text)
        self.assertIn("event.json in 1\n    one: only before", self.said({"event_json": ""}, {})[1])

    def test_causes_that_moved_are_counted(self):
        text = self.said({"judged_txt": "leak 0.80\n"}, {"judged_txt": "(none) 0.00\n"}, "judged.txt\trules\n")[1]
        self.assertIn("named in 1 of 1, now in 0 of 1", text)
        self.assertIn("1 x leak -> (none)", text)

    def test_a_program_that_crashes_and_a_row_without_reason_end_it(self):
        for new, expected in (({"status": 134}, ""), ({}, "report.md\n")):
            with self.assertRaises(SystemExit):
                self.said({}, new, expected)


if __name__ == "__main__":
    unittest.main()
