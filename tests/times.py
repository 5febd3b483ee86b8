#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How long each stage of tests/run.sh took, and when: rows of $OOMW_CACHE/times.tsv (this machine) and tests/times.tsv (committed).

times.py note STAGE SECONDS   adds a row to the cache; the whole seconds of its tests, without builds
times.py order STAGE...       prints them, the one that was not run for longest first; those that nobody knows come before, in an
                              order that each commit turns by one
times.py say STAGE...         prints the minutes that they took last, together
times.py import               brings the newest row of each stage into tests/times.tsv
"""
import os
import sys

import flakes

HERE = os.path.dirname(os.path.abspath(__file__))
COMMITTED = os.path.join(HERE, "times.tsv")
CACHED = os.path.join(flakes.CACHE, "times.tsv")
MAX_ROWS = 1000  # of the cache
HEAD = "# stage, last run, its commit, seconds without builds: see times.py\n"


def read(path):
    """[(stage, time in RFC 3339 UTC, commit, seconds)]; lines that are none are passed over: a run was cut off."""
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", errors="replace") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return [(row[0], row[1], row[2], int(row[3])) for row in rows if len(row) == 4 and row[3].isdigit()]


def newest(rows):
    return {row[0]: row for row in sorted(rows, key=lambda row: row[1])}


def order(stages, rows, commits):
    """The one not run for longest first."""
    last = newest(rows)
    unknown = [stage for stage in stages if stage not in last]
    turn = commits % len(unknown) if unknown else 0
    return unknown[turn:] + unknown[:turn] + sorted((stage for stage in stages if stage in last), key=lambda stage: last[stage][1])


def say(stages, rows):
    last = newest(rows)
    minutes = round(sum(last[stage][3] for stage in stages if stage in last) / 60)
    unknown = sum(stage not in last for stage in stages)
    return f"about {minutes} min" + (f" and {unknown} stages that were never timed" if unknown else "")


def note(stage, seconds):
    os.makedirs(flakes.CACHE, exist_ok=True)
    rows = read(CACHED)[1 - MAX_ROWS:] + [(stage, flakes.now(), flakes.git("rev-parse", "--short=8", "HEAD") or "unknown", seconds)]
    write(CACHED, rows)


def write(path, rows):
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(HEAD)
        f.writelines("\t".join(map(str, row)) + "\n" for row in rows)
    os.replace(path + ".new", path)


def main():
    command, arguments = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else ("", [])
    known = read(COMMITTED) + read(CACHED)
    if command == "note" and len(arguments) == 2 and arguments[1].isdigit():
        note(arguments[0], int(arguments[1]))
    elif command == "order":
        print(*order(arguments, known, int(flakes.git("rev-list", "--count", "HEAD") or 0)), sep="\n")
    elif command == "say":
        print(say(arguments, known))
    elif command == "import" and not arguments:
        write(COMMITTED, sorted(newest(known).values()))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
