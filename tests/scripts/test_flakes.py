# SPDX-License-Identifier: Apache-2.0
"""The ledger of flakes: what a run adds, and when it stops the next change."""
import os
import tempfile
import unittest
from unittest import mock

import flakes
from flakes import Judged, Row, Sight


def sight(name="e2e: a", time="2026-11-28T10:00:00Z", commit="aaaaaaaa", kind="late"):
    return Sight(name, kind, time, commit, 1, 2, "not within 60 s")


def row(name="e2e: a", sights=1, state="open", kind="late"):
    return Row(name, kind, "2026-11-28T10:00:00Z aaaaaaaa", "2026-11-28T10:00:00Z aaaaaaaa", sights, state, "words")


class Committed(unittest.TestCase):
    def test_ledger_of_this_tree_is_in_order(self):
        """A flake with three sights, or too many open rows, stop every change until one is mended."""
        self.assertEqual(flakes.faults(flakes.read_ledger()), [])
        self.assertEqual(flakes.faults_of_tally(flakes.read_tally()), [])


class Debt(unittest.TestCase):
    def test_third_sight_is_a_fault_that_names_how_to_hunt_it(self):
        self.assertEqual(flakes.faults([row(sights=2)]), [])
        fault, = flakes.faults([row(sights=3)])
        self.assertIn("tests/run.sh --name 'e2e: a' --times 20 --under-load", fault)

    def test_mended_row_is_none(self):
        self.assertEqual(flakes.faults([row(sights=0, state="mended 3179fa1d")]), [])
        self.assertEqual(len(flakes.faults([row(state="mended soon")])), 1)

    def test_six_open_rows_are_a_fault(self):
        rows = [row(f"e2e: {n}") for n in range(6)]
        self.assertEqual(flakes.faults(rows[:5]), [])
        self.assertEqual(flakes.faults(rows), ["6 rows are open: at most 5 may be"])

    def test_two_rows_of_one_name_are_a_fault(self):
        self.assertEqual(flakes.faults([row(), row()]), ["e2e: a: more than one row"])


class Tally(unittest.TestCase):
    def judged(self, failed, runs, time="2026-11-28T10:00:00Z"):
        return Sight("living: t", "judged", time, "aaaaaaaa", failed, runs, "")

    def test_runs_are_added_up_once_and_are_no_rows_of_the_ledger(self):
        seen = [self.judged(0, 1), self.judged(1, 3, "2026-11-28T12:00:00Z")]
        rows = flakes.add_judged(flakes.add_judged([], seen), seen)
        self.assertEqual(rows, [Judged("living: t", 4, 3, "2026-11-28T12:00:00Z")])
        self.assertEqual(flakes.add([], seen), [])

    def test_so_few_passes_that_it_is_no_chance_are_a_fault(self):
        self.assertEqual(flakes.faults_of_tally([Judged("a", 20, 15, "t"), Judged("b", 60, 51, "t"), Judged("c", 2, 0, "t")]), [])
        faults = flakes.faults_of_tally([Judged("a", 20, 14, "t"), Judged("b", 60, 50, "t"), Judged("c", 3, 0, "t")])
        self.assertEqual([fault.split(":")[0] for fault in faults], ["a", "b", "c"])
        self.assertIn("passed 14 of 20 since its last mend", faults[0])


class Import(unittest.TestCase):
    def test_sights_are_counted_and_the_same_ones_only_once(self):
        seen = [sight(), sight(time="2026-11-28T12:00:00Z", commit="bbbbbbbb")]
        rows = flakes.add(flakes.add([], seen), seen)
        self.assertEqual([(r.sights, r.first, r.last, r.state) for r in rows],
                         [(2, "2026-11-28T10:00:00Z aaaaaaaa", "2026-11-28T12:00:00Z bbbbbbbb", "open")])

    def test_sight_after_the_mend_opens_the_row_anew(self):
        with mock.patch.object(flakes, "now", return_value="2026-11-28T11:00:00Z"):
            mended = flakes.mend([row(sights=2)], "e2e: a", "cccccccc")
        self.assertEqual((mended[0].sights, mended[0].state), (0, "mended cccccccc"))
        self.assertEqual(flakes.add(mended, [sight(time="2026-11-28T10:30:00Z")]), mended)
        again, = flakes.add(mended, [sight(time="2026-11-28T12:00:00Z")])
        self.assertEqual((again.sights, again.state), (1, "open"))

    def test_find_counts_once_for_each_commit(self):
        seen = [sight("fuzz: x_fuzz-0", f"2026-11-28T1{n}:00:00Z", commit, "fuzz") for n, commit in enumerate("aabbc")]
        self.assertEqual([r.sights for r in flakes.add([], seen)], [3])

    def test_closing_line_is_read_back_as_it_was_written(self):
        seen = sight("ci: unit_captures.ReadHeapJobTest.reads (1 of 2)/pie")
        self.assertEqual(flakes.sights_of_log(f"== results\nfailed: e2e: b\n{seen.line()}\n5 passed\n"), [seen])

    def test_ledger_and_cache_are_read_back_as_they_were_written(self):
        with tempfile.TemporaryDirectory(prefix="oomw-flakes-") as folder:
            path = os.path.join(folder, "ledger.tsv")
            rows = flakes.add([row("vm: z")], [sight('e2e: "quoted"')])
            flakes.write_ledger(rows, path)
            self.assertEqual(flakes.read_ledger(path), sorted(rows, key=lambda r: r.name))
            with mock.patch.object(flakes, "CACHE", folder):
                flakes.record([sight()])
                flakes.record([sight("e2e: b")])
            self.assertEqual([s.name for s in flakes._read(os.path.join(folder, "flakes.tsv"), Sight)], ["e2e: a", "e2e: b"])

    def test_words_of_a_failure_cannot_break_a_row(self):
        self.assertEqual(flakes.words_of("a\tb\nc\x1b[31m"), "a b c [31m")

    def test_inputs_of_open_finds_come_into_the_tree_and_leave_it_when_mended(self):
        with tempfile.TemporaryDirectory(prefix="oomw-flakes-") as folder, \
                mock.patch.multiple(flakes, FINDS=f"{folder}/finds", CACHE=folder):
            os.makedirs(f"{folder}/fuzz-finds")
            with open(f"{folder}/fuzz-finds/x_fuzz-0", "wb") as f:
                f.write(b"X")
            flakes.import_finds([row("fuzz: x_fuzz-0", kind="fuzz")])
            self.assertEqual(os.listdir(f"{folder}/finds"), ["x_fuzz-0"])
            flakes.import_finds([row("fuzz: x_fuzz-0", kind="fuzz", state="mended cccccccc")])
            self.assertEqual(os.listdir(f"{folder}/finds"), [])


if __name__ == "__main__":
    unittest.main()
