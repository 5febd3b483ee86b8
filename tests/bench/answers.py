#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Does the answer name who did it? Real runs of tests/corpus/answers.tsv, with growth sampled and the default schedule.

Prints cause, answer and culprit of each, and how many name the right code, type or holder, a wrong one, or nobody. Where a
word of the list is in the answer, a reader must still judge the sentence: this counts, it does not read.
"""
import os
import sys

import corpus
from bench_support import Bars, Site, parsed, print_conditions, runs_parser, table
from corpus_names import require, score
from corpus_runs import OwnFilesScene, Runner, Scene
from corpus_table import read_answers, read_runs
from harness import kept

CONFIG = "[growth]\nenabled = true\n[incidents]\nkeep_count = 1000\n"
RIGHT_BAR = 0.85


def print_one(outcome, named):
    answer = (outcome.incident or {}).get("answer") or {}
    print(f"{corpus.line_of(outcome)}\n    named: {named}; {answer.get('sentence')}\n    culprit: {answer.get('culprit')}",
          flush=True)


def run_all(runs, options):
    """[(outcome, how it named)]"""
    answers, outcomes = read_answers(), []
    with Site() as site:
        witness = site.daemon(CONFIG)
        runner = Runner(witness, site.scratch, site.prefix, OwnFilesScene if options.own_files else Scene)
        for outcome in corpus.each_done(site, runner, runs, options.jobs):
            named = score((outcome.incident or {}).get("answer"), *answers[outcome.run.name])
            outcomes.append((outcome, named))
            print_one(outcome, named)
            if options.keep_small and outcome.incident:
                kept.copy(outcome.incident["_dir"], os.path.join(options.keep_small, outcome.run.name), site)
        if options.keep:
            corpus.keep([outcome for outcome, _ in outcomes], options.keep)
    return outcomes


def judge(outcomes, bars):
    can_be_known = {name for name, (right, _) in read_answers().items() if right}
    rows = [(outcome.run.name, outcome.called, "yes" if outcome.is_right else "NO", named) for outcome, named in outcomes]
    table(("run", "cause", "right", "named"), rows)
    causes = sum(outcome.is_right for outcome, _ in outcomes)
    print(f"Causes: {causes} of {len(outcomes)}.")
    require(bars, [(named, outcome.run.name in can_be_known) for outcome, named in outcomes], "Answers", RIGHT_BAR)


def main():
    parser = runs_parser(__doc__, jobs=2)
    parser.add_argument("--own-files", action="store_true", help="the pages of its executables are each program's own")
    parser.add_argument("--keep-small", metavar="DIRECTORY", help="incidents without large files, for tests/keep.sh")
    options = parsed(parser)
    names = set(read_answers())
    runs = [run for run in read_runs("all", options.k) if run.name in names]
    if not runs:
        sys.exit("no such run")
    corpus.build(runs)
    print_conditions()
    bars = Bars()
    judge(run_all(runs, options), bars)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
