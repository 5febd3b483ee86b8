# SPDX-License-Identifier: Apache-2.0
"""The bench of labelled runs: it distinguishes right from wrong, and its programs behave as labelled."""
import collections
import concurrent.futures
import os
import sys
import unittest

from harness import tools
from harness.case import E2eTest, judged

sys.path.insert(0, os.path.join(tools.TREE, "tests/bench"))
import answers  # noqa: E402 (the path comes first)
import corpus  # noqa: E402
import corpus_calibration  # noqa: E402
import corpus_names  # noqa: E402
from corpus_dry import DryOutcome, DryRunner  # noqa: E402
from corpus_runs import CONFIG, Outcome, Runner  # noqa: E402
from corpus_table import CAUSES, HEALTHY, HELD_BACK, SEEN, SPLITS, TUNE, parse_run, read_runs  # noqa: E402

# As in labels.tsv, and shorter.
RUNS = """
spike	tune	spike	container	64	60	cc --hold-mb 8 --burst-mb 120 --burst-after 3 --burst-seconds 1	
tmpfs	tune	page_cache_or_tmpfs	container	48	60	filehog {tmpfs}/file --rate-mb-s 8	
leak	tune	leak	container	40	90	cc --hold-mb 12 --leak-kb-s 1600	
pod	tune	ancestor_limit	pod	64	60	cc --hold-mb 8 --leak-kb-s 9000 & cc --hold-mb 8	
healthy	tune	healthy	container	160	12	go1.19 -hold-mb 20 -churn-kb-s 0 -garbage-mb-s 60	
"""
DRY_RUNS = """
killed	tune	spike	container	48	60	cc --hold-mb 4 --burst-mb 90 --burst-after 1 --burst-seconds 1	
alive	tune	healthy	container	64	3	cc --hold-mb 4	
"""


def runs_of(text):
    return [parse_run(line, number) for number, line in enumerate(text.strip("\n").split("\n"), 1)]


class Bench(E2eTest):
    alone = True

    def run_side_by_side(self, runs):
        witness = self.daemon(CONFIG)
        corpus.build(runs)
        # Not the prefix of this test's own cgroups: those are all known to its base, which counts their kills.
        runner = Runner(witness, self.scratch, "corpus-" + self.prefix)
        with concurrent.futures.ThreadPoolExecutor(len(runs)) as pool:
            return list(pool.map(runner.run, runs))

    @judged
    def test_runs_end_as_their_labels_say(self):
        for outcome in self.run_side_by_side(runs_of(RUNS)):
            self.assertTrue(outcome.is_right, corpus.line_of(outcome))
            self.assertEqual(outcome.incident is None, outcome.run.is_healthy)

    def test_a_dry_run_tells_who_is_killed(self):
        runs = runs_of(DRY_RUNS)
        corpus.build(runs)
        killed, alive = (DryRunner(self.scratch, "dry-" + self.prefix).run(run) for run in runs)
        self.assertEqual((killed.killed, killed.problem), (True, ""), killed.line)
        self.assertEqual((alive.killed, alive.problem), (False, ""), alive.line)


class Score(unittest.TestCase):
    def outcome(self, expected, cause):
        run = runs_of(f"made-up\ttune\t{expected}\tcontainer\t64\t60\tcc\t")[0]
        return Outcome(run, incident={"verdict": {"cause": cause, "confidence": 0.5}} if cause else {"verdict": None})

    def missed(self, outcomes):
        bars = corpus.Bars()
        corpus.judge(outcomes, bars)
        return len(bars.missed)

    def test_one_wrong_of_ten_misses_the_bar_and_one_of_twenty_does_not(self):
        wrong, right = self.outcome("leak", "spike"), self.outcome("leak", "leak")
        self.assertEqual(self.missed([wrong] + [right] * 9), 1)
        self.assertEqual(self.missed([wrong] + [right] * 19), 0)

    def test_no_verdict_and_a_run_that_did_not_run_are_wrong(self):
        self.assertFalse(self.outcome("leak", None).is_right)
        failed = self.outcome("leak", "leak")
        failed.problem = "nobody was killed"
        self.assertFalse(failed.is_right)

    def test_a_kill_before_anything_was_seen_does_not_fit_its_label(self):
        run = self.outcome("leak", "leak").run
        self.assertTrue(DryOutcome(run, seconds=20, killed=True).is_as_labelled)
        self.assertFalse(DryOutcome(run, seconds=5, killed=True).is_as_labelled)
        self.assertFalse(DryOutcome(run, seconds=60).is_as_labelled)

    def test_a_second_right_cause_is_right(self):
        self.assertTrue(self.outcome("sibling,leak", "leak").is_right)

    def test_one_healthy_run_called_or_not_judged_misses_the_bar(self):
        called, unjudged, fine = (Outcome(self.outcome(HEALTHY, None).run) for _ in range(3))
        called.suspected, unjudged.problem = True, "was never judged"
        self.assertEqual(self.missed([fine]), 0)
        self.assertEqual(self.missed([fine, called]), 1)
        self.assertEqual(self.missed([fine, unjudged]), 1)

    def test_labels_hold_forty_kills_and_a_third_of_them_back(self):
        """A third of what is not seen: rows that were held back once prove nothing any more."""
        runs = [run for run in read_runs() if run.split != SEEN]
        self.assertGreaterEqual(sum(not run.is_healthy for run in runs), 40)
        held_back = collections.Counter(run.expected[0] for run in runs if run.split == HELD_BACK)
        self.assertGreaterEqual(3 * sum(held_back.values()), len(runs))
        self.assertEqual(set(held_back), {*CAUSES, HEALTHY})

    def test_what_is_seen_runs_with_tune_and_what_is_held_back_does_not(self):
        splits = {option: {run.split for run in read_runs(option)} for option in (TUNE, SEEN, HELD_BACK, "all")}
        self.assertEqual(splits, {TUNE: {TUNE, SEEN}, SEEN: {SEEN}, HELD_BACK: {HELD_BACK}, "all": {*SPLITS}})


class Named(unittest.TestCase):
    """Of runs of Go and the Collector: the words follow from the flags."""

    def words(self, cause, commands):
        return corpus_names.words_of(runs_of(f"made-up\ttune\t{cause}\tcontainer\t64\t60\t{commands}\t")[0])

    def test_a_leak_is_that_of_the_part_that_never_gives_back(self):
        self.assertEqual(self.words("leak", "go1.27 -hold-mb 8 -leak map"), corpus_names.LEAKS["map"])
        self.assertEqual(self.words("leak", "go1.27 -hold-mb 8 -login-kb-s 9 -login-lost 0.4"), corpus_names.PARTS["login-kb-s"])
        self.assertEqual(self.words("leak", "go1.27 -queue-kb-s 9 -queue-done-kb-s 5 -cache-mb 3"), corpus_names.PARTS["queue-kb-s"])
        self.assertEqual(self.words("leak", "go1.27 -cache-mb 3 -cache-broken -queue-kb-s 5 -queue-done-kb-s 9"),
                         corpus_names.PARTS["cache-mb"])

    def test_a_spike_is_that_of_the_burst_and_a_small_limit_that_of_all_that_stays(self):
        self.assertEqual(self.words("spike", "go1.27 -hold-mb 8 -burst-mb 90"), corpus_names.PARTS["burst-mb"])
        self.assertEqual(set(self.words("undersized", "go1.27 -hold-mb 8 -cache-mb 9")),
                         {*corpus_names.PARTS["hold-mb"], *corpus_names.PARTS["cache-mb"]})

    def test_nobody_is_to_be_named_off_the_heap_and_other_runs_are_not_scored(self):
        self.assertEqual(self.words("off_heap", "go1.27 -hold-mb 8 -mmap-kb-s 9"), ())
        for commands in ("cc --leak-kb-s 3", "go1.27 -leak map & cc --hold-mb 9"):
            self.assertIsNone(self.words("leak", commands))
        self.assertIsNone(self.words(HEALTHY, "go1.27 -hold-mb 8"))

    def test_each_run_whose_cause_is_its_code_has_words(self):
        empty = [run.name for run in read_runs() if run.expected[0] in corpus_names.CODE_CAUSES and corpus_names.words_of(run) == ()]
        self.assertEqual(empty, [])

    def test_confidence_is_compared_with_what_was_right(self):
        rows = corpus_calibration.rows_of([(0.95, True)] * 9 + [(0.9, False)] + [(0.55, False)])
        self.assertEqual([(low, count, share) for low, _, count, _, share in rows], [(0.5, 1, 0.0), (0.9, 10, 0.9)])


class Answers(unittest.TestCase):
    def named(self, sentence, culprit=None, right=("CACHE", "load"), wrong=("Memory.leak",)):
        answer = {"sentence": sentence, "culprit": culprit and {"code": culprit, "path": []}}
        return corpus_names.score(answer, right, wrong)

    def test_a_right_word_is_right_in_the_sentence_and_in_the_culprit(self):
        self.assertEqual(self.named("a dict held as `CACHE` filled it"), corpus_names.RIGHT)
        self.assertEqual(self.named("It grew.", "app.load"), corpus_names.RIGHT)

    def test_a_part_of_a_word_names_nobody(self):
        self.assertEqual(self.named("no heap was downloaded, MY_CACHE"), corpus_names.NOBODY)

    def test_another_culprit_and_a_wrong_explanation_are_wrong(self):
        self.assertEqual(self.named("It grew.", "app.store"), corpus_names.WRONG)
        self.assertEqual(self.named("Memory leak in app: held as `CACHE`"), corpus_names.WRONG)
        self.assertEqual(self.named("no leak was seen; held as `CACHE`"), corpus_names.RIGHT)

    def test_who_cannot_be_known_is_wrong_with_any_culprit_and_nobody_without(self):
        self.assertEqual(self.named("It grew.", "malloc", right=()), corpus_names.WRONG)
        self.assertEqual(self.named("It grew.", right=()), corpus_names.NOBODY)

    def test_each_line_of_the_list_has_a_run_that_is_killed(self):
        killed = {run.name for run in read_runs() if not run.is_healthy}
        self.assertGreaterEqual(len(answers.read_answers()), 16)
        self.assertEqual(set(answers.read_answers()) - killed, set())
