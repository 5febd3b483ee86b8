#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up a folder of results (outcomes.py) and what became of its failures when they were run alone (rerun.py).

summary.py RESULTS          prints a line for each kind of skips (skips.tsv; all of them are in build/logs/skipped), failures, flakes, and last the line "N passed, N failed, N skipped":
                            whoever reads the end of a long output only sees what failed
summary.py --line RESULTS   only that line
"""
import os
import re
import sys

import flakes
import outcomes

HERE = os.path.dirname(os.path.abspath(__file__))
KINDS = os.path.join(HERE, "skips.tsv")
ALL = os.path.join(os.path.dirname(HERE), "build", "logs", "skipped")
MISSING = "not installed"  # a test of the gate may not be skipped for that in CI: it would be lost unseen


def kinds_of_skips(skips, path=KINDS):
    """{kind: its skips}, in the order of the file."""
    with open(path, encoding="utf-8") as f:
        kinds = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    found = {kind: [] for kind, _ in kinds}
    for skip in skips:
        found[next(kind for kind, reasons in kinds if re.search(reasons, skip.reason or "?"))].append(skip)
    return {kind: of for kind, of in found.items() if of}


def print_skips(skips):
    """A line a kind: on several kernels there are hundreds."""
    for kind, of in kinds_of_skips(skips).items():
        print(f"skipped: {len(of)}, {kind}: {of[0].name}{', ...' if len(of) > 1 else ''} ({of[0].reason})")
    if skips and os.path.isdir(os.path.dirname(ALL)):
        with open(ALL, "w", encoding="utf-8") as f:
            f.writelines(f"{skip.name}: {skip.reason}\n" for skip in skips)


def lost_tests(folder):
    """Failures: what the gate skips in CI though the packages that it needs are installed there."""
    of_the_gate = outcomes.read_folder(os.path.join(folder, "gate")) if os.environ.get("OOMW_CI") else []
    missing = kinds_of_skips([r for r in of_the_gate if r.outcome == "skip"]).get(MISSING, [])
    return [outcomes.Result("fail", skip.name, f"skipped in CI: {skip.reason}", "lost") for skip in missing]


def sights_in(folder):
    """Of the failures that do not reject the change."""
    path = os.path.join(folder, "flaky.txt")
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as f:
        return flakes.sights_of_log(f.read())


def main():
    folder = sys.argv[-1]
    results = outcomes.read_folder(folder)
    if sys.argv[1] == "--line":
        print(outcomes.count(results))
        return 0
    sights = sights_in(folder)
    forgiven = {sight.name for sight in sights}
    results = lost_tests(folder) + results
    failed = [r for r in results if r.outcome == "fail" and r.name not in forgiven]
    skipped = [r for r in results if r.outcome == "skip"]
    print_skips(skipped)
    for result in failed:
        print(f"failed: {result.name} ({result.kind}){': ' + result.reason if result.reason else ''}")
    for sight in sights:
        print(sight.line())
    if sights:
        is_open = sum(row.state == "open" for row in flakes.read_ledger())
        print(f"flaky: {len(sights)} in this run; the ledger has {is_open} open (tests/flakes.py import adds these)")
    print(outcomes.count(results, forgiven), flush=True)
    return 1 if failed or not results else 0


if __name__ == "__main__":
    sys.exit(main())
