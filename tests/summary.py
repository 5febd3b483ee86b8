#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up a folder of results (outcomes.py) and what became of its failures when they were run alone (rerun.py).

summary.py RESULTS          prints skips by their reasons, failures, flakes, and last the line "N passed, N failed, N skipped":
                            whoever reads the end of a long output only sees what failed
summary.py --line RESULTS   only that line
"""
import os
import sys

import flakes
import outcomes

MAX_NAMES = 4  # of those that share a reason; each was printed when it was skipped


def print_skips(skips):
    """One line for each reason: on several kernels there are hundreds."""
    names = {}
    for skip in skips:
        names.setdefault(skip.reason, []).append(skip.name)
    for reason, of in names.items():
        more = f" and {len(of) - MAX_NAMES} more" if len(of) > MAX_NAMES else ""
        print(f"skipped: {', '.join(of[:MAX_NAMES])}{more}: {reason}")


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
