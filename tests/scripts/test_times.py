# SPDX-License-Identifier: Apache-2.0
"""Which stage of the rest comes first, and how long they take together."""
import os
import tempfile
import unittest
from unittest import mock

import flakes
import times


def row(stage, day, seconds=60):
    return (stage, f"2026-11-{day:02}T10:00:00Z", "aaaaaaaa", seconds)


class Order(unittest.TestCase):
    def test_the_one_not_run_for_longest_is_first_by_cache_and_tree_together(self):
        rows = [row("vm", 3), row("web", 2), row("fuzz", 4), row("vm", 1)]
        self.assertEqual(times.order(["fuzz", "vm", "web"], rows, 7), ["web", "vm", "fuzz"])

    def test_those_that_nobody_knows_come_before_and_turn_with_each_commit(self):
        orders = [times.order(["a", "b", "c", "d"], [row("c", 1)], commits) for commits in range(4)]
        self.assertEqual(orders, [["a", "b", "d", "c"], ["b", "d", "a", "c"], ["d", "a", "b", "c"], ["a", "b", "d", "c"]])

    def test_minutes_are_those_of_the_last_runs(self):
        self.assertEqual(times.say(["a", "b"], [row("a", 1, 600), row("a", 2, 60), row("b", 1, 120), row("c", 1, 900)]), "about 3 min")
        self.assertEqual(times.say(["a", "d"], [row("a", 1, 60)]), "about 1 min and 1 stages that were never timed")


class File(unittest.TestCase):
    def test_what_was_noted_is_read_again_and_a_line_cut_off_is_passed_over(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(times, "CACHED", os.path.join(folder, "t.tsv")), \
                mock.patch.object(flakes, "CACHE", folder):
            times.note("vm", 30)
            with open(times.CACHED, "a", encoding="utf-8") as f:
                f.write("web\t2026-11-")
            times.note("fuzz", 40)
            self.assertEqual([(r[0], r[3]) for r in times.read(times.CACHED)], [("vm", 30), ("fuzz", 40)])


if __name__ == "__main__":
    unittest.main()
