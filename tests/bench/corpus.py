#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Are the verdicts right? Real runs of tests/corpus/labels.tsv, each with the cause that it was made for.

Prints a line a run, the confusion matrix and the share that is right, how often a verdict is right by how sure it is, and
of the killed runs of Go and the Collector alone whether the answer names who did it. Incidents of runs judged wrong are kept.
The rows that are held back were written by someone who had not read how verdicts are made, and are run once, as the
final check: --split held_back. Then they are looked at, and so `seen`: they run with `tune` from there on, and prove as
little as it does, and others are written to be held back. --dry: without the tracer, only whether each run is killed,
or is not, as its label needs it to be. A healthy run without a Go heap is judged by the verdict on what happens when
its limit is taken away at its end.
"""
import concurrent.futures
import os
import shutil
import sys
import tempfile
import time

from bench_support import Bars, Site, parsed, print_conditions, runs_parser, table, tools
import corpus_calibration
import corpus_names
from corpus_dry import DryRunner
from corpus_programs import answer_argv, is_answer_program
from corpus_runs import CONFIG, FACTOR, Runner
from corpus_table import CAUSES, HEALTHY, LANGUAGE_CAUSES, OF_OPTION, TUNE, read_runs

BAR = 0.95


def parse():
    parser = runs_parser(__doc__, jobs=5, keep="where to put the incidents of wrong runs (default: a new directory)")
    parser.add_argument("--split", choices=tuple(OF_OPTION), default=TUNE,
                        help="tune (the default) runs what is seen, too")
    parser.add_argument("--keep-all", action="store_true", help="those of the other runs, too (for outputs_bench)")
    parser.add_argument("--dry", action="store_true", help="no tracer, no verdicts: is each killed when it is to be?")
    return parsed(parser)


def build(runs):
    """Before the clock runs and before threads ask for the same program."""
    programs = {command.program for run in runs for command in run.commands}
    for program in programs:
        if is_answer_program(program):
            answer_argv(program)
        elif program.startswith("go"):
            tools.go_program(program[2:], "strip", "go-patterns")
        elif program == "collector":
            tools.supplied("collector_build.sh", "1.27", "pprof")
        else:
            {"cc": tools.patterns, "filehog": tools.filehog}[program]()


def line_of(outcome):
    confidence = "" if outcome.confidence is None else f" {outcome.confidence:.2f}"
    mark = "right" if outcome.is_right else "WRONG"
    details = "".join(f"\n       {text}" for text in (outcome.problem, *(() if outcome.is_right else outcome.why)) if text)
    named = f", named: {outcome.named}" if outcome.named else ""
    return (f"{mark}  {outcome.run.name}: expected {' or '.join(outcome.run.expected)}, "
            f"{outcome.called}{confidence}{named}, {outcome.seconds:.0f} s{details}")


def each_done(site, runner, runs, jobs):
    """Outcomes as they come."""
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    site.callback(pool.shutdown, cancel_futures=True)  # ended early, it ends after what runs and starts no more
    for done in concurrent.futures.as_completed([pool.submit(runner.run, run) for run in runs]):
        yield done.result()


def run_dry(runs, options, bars):
    with Site() as site:
        fitting = 0
        for outcome in each_done(site, DryRunner(site.scratch, site.prefix), runs, options.jobs):
            print(outcome.line, flush=True)
            fitting += outcome.is_as_labelled
    bars.require(f"{fitting} of {len(runs)} runs end as their labels need them to", fitting == len(runs))


def is_fine(outcome):
    return outcome.is_right and outcome.named != corpus_names.WRONG


def run_all(runs, options):
    outcomes = []
    with Site() as site:
        witness = site.daemon(CONFIG)
        for outcome in each_done(site, Runner(witness, site.scratch, site.prefix), runs, options.jobs):
            outcomes.append(outcome)
            print(line_of(outcome), flush=True)
        kept = keep(outcomes if options.keep_all else [o for o in outcomes if not is_fine(o)], options.keep)
        if kept:
            shutil.copy(witness.log_file.name, os.path.join(kept, "daemon.log"))
            print(f"\nIncidents of runs{'' if options.keep_all else ' judged wrong'}, and the daemon's log: {kept}")
    return outcomes


def keep(outcomes, folder):
    if not outcomes:
        return None
    folder = folder or tempfile.mkdtemp(prefix="oomw-corpus-")
    os.makedirs(folder, exist_ok=True)
    for outcome in outcomes:
        if outcome.incident:
            shutil.copytree(outcome.incident["_dir"], os.path.join(folder, outcome.run.name), dirs_exist_ok=True)
    return folder


def print_matrix(outcomes):
    """Rows: what a run was made for (the first, where two causes are right); columns: the verdict."""
    said = [c for c in (*CAUSES, *LANGUAGE_CAUSES, HEALTHY, "(none)", "(did not run)") if any(o.called == c for o in outcomes)]
    rows = []
    for cause in (*CAUSES, *LANGUAGE_CAUSES, HEALTHY):
        of_cause = [o for o in outcomes if o.run.expected[0] == cause]
        if of_cause:
            counts = [sum(o.called == c for o in of_cause) or "" for c in said]
            rows.append((cause, *counts, f"{sum(o.is_right for o in of_cause)} of {len(of_cause)}"))
    print()
    table(("expected", *said, "right"), rows)


def judge(outcomes, bars):
    killed = [o for o in outcomes if not o.run.is_healthy]
    healthy = [o for o in outcomes if o.run.is_healthy]
    right = sum(o.is_right for o in killed)
    if killed:
        print(f"Verdicts: {right} of {len(killed)} right, {100 * right / len(killed):.1f} %.")
        bars.require(f"verdict right in >= {100 * BAR:.0f} %", right >= BAR * len(killed))
    if healthy:
        called = sum(o.called not in (HEALTHY, "(did not run)") for o in healthy)
        print(f"Healthy: {called} of {len(healthy)} called a leak, {FACTOR} times compressed.")
        bars.require("no leak called on a healthy run", called == 0 and not any(o.problem for o in healthy))


def judge_names(outcomes, bars):
    """Of the runs whose culprit follows from their flags."""
    scored = [outcome for outcome in outcomes if outcome.named]
    for outcome in scored:
        if outcome.named != corpus_names.RIGHT and corpus_names.words_of(outcome.run):
            print(f"{outcome.named}  {outcome.run.name}: {(outcome.incident.get('answer') or {}).get('sentence')}")
    if scored:
        corpus_names.require(bars, [(o.named, bool(corpus_names.words_of(o.run))) for o in scored], "Go and the Collector")


def main():
    options = parse()
    runs = read_runs(options.split, options.k)
    if not runs:
        sys.exit("no such run")
    build(runs)
    print_conditions()
    start, bars = time.monotonic(), Bars()
    if options.dry:
        run_dry(runs, options, bars)
    else:
        outcomes = run_all(runs, options)
        print_matrix(outcomes)
        judge(outcomes, bars)
        corpus_calibration.judge(outcomes, bars)
        judge_names(outcomes, bars)
    print(f"{time.monotonic() - start:.0f} s in all.")
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
