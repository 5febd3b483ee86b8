#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The ledger of flakes, tests/flakes.tsv: every test that failed in a run and passed when it was run alone. Of tests that judge
chance (class `judged`, outcomes.py) the tally, tests/tally.tsv, instead: how many runs there were since the last mend, and passes.

flakes.py import [LOG]        adds what this machine's runs saw ($OOMW_CACHE/flakes.tsv), or the closing lines of a run's LOG
flakes.py mend NAME COMMIT    NAME was mended by COMMIT: its sights are counted anew from now on
flakes.py check               prints what is wrong with the ledger: tests/scripts/test_flakes.py fails for the same

A row: name, class, first and last sight (time and commit), sights since its last mend, state (`open`, `mended COMMIT`), the
last words of the failure. A run itself never writes to the tree.
"""
import contextlib
import csv
import dataclasses
import datetime
import functools
import os
import re
import shutil
import subprocess
import sys

import outcomes

HERE = os.path.dirname(os.path.abspath(__file__))
LEDGER, TALLY = os.path.join(HERE, "flakes.tsv"), os.path.join(HERE, "tally.tsv")
FINDS = os.path.join(HERE, "fuzz/finds")  # inputs of open rows of class fuzz
CACHE = os.environ.get("OOMW_CACHE", os.path.join(os.environ.get("HOME", "/root"), ".cache/oomwitness"))
CACHE = os.environ.get("OOMW_NOTES", CACHE)  # where runs note what they saw, if not there: mutate.sh
MAX_SIGHTS = 3
MAX_OPEN = 5
MAX_WORDS = 300


@dataclasses.dataclass
class Sight:
    """One run in which NAME was flaky, or a find of random fuzzing was still open."""
    name: str
    kind: str
    time: str  # RFC 3339, UTC
    commit: str
    failed: int
    runs: int
    words: str

    def line(self):
        return f"flaky: {self.name} {self.failed} of {self.runs} ({self.kind}, {self.time}, {self.commit}): {self.words}"


_LINE = re.compile(r"^flaky: (.+) (\d+) of (\d+) \((\w+), (\S+Z), (\w+)\): (.*)$", re.M)


@dataclasses.dataclass
class Row:
    name: str
    kind: str
    first: str  # "TIME COMMIT"
    last: str
    sights: int
    state: str
    words: str


@dataclasses.dataclass
class Judged:
    """A row of the tally."""
    name: str
    runs: int
    passed: int
    last: str  # time of the last run in it, or of the mend


def cached_finds():
    """Inputs that random fuzzing found on this machine, by the name of their row."""
    return os.path.join(CACHE, "fuzz-finds")


def now():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def git(*arguments):
    """What it prints of this tree; "" if it has no answer."""
    done = subprocess.run(["git", "-C", HERE, *arguments], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def words_of(text):
    return "".join(c if c.isprintable() else " " for c in text)[:MAX_WORDS].strip()


@functools.cache
def commit():
    """Of a run, which has one: each of its judged tests asks."""
    return git("rev-parse", "--short=8", "HEAD") or "unknown"


def sight(name, kind, failed, runs, words):
    """Of the commit that is checked out, now."""
    return Sight(name, kind, now(), commit(), failed, runs, words_of(words))


def _read(path, kind):
    if not os.path.exists(path):
        return []
    types = [field.type for field in dataclasses.fields(kind)]
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.reader((line for line in f if not line.startswith("#")), delimiter="\t", quoting=csv.QUOTE_NONE))
    return [kind(*(int(cell) if of is int else cell for of, cell in zip(types, row, strict=True))) for row in rows]


def _line_of(row):
    return "\t".join(str(value) for value in dataclasses.astuple(row)) + "\n"


def read_ledger(path=LEDGER):
    return _read(path, Row)


def read_tally(path=TALLY):
    return _read(path, Judged)


def write_ledger(rows, path=LEDGER):
    _write(path, "name, class, first sight, last sight, sights since its last mend, state, last words", rows)


def write_tally(rows, path=TALLY):
    _write(path, "name, runs since its last mend, passed, last run", rows)


def _write(path, columns, rows):
    with open(path + ".new", "w", encoding="utf-8") as f:
        f.write(f"# {columns}: see flakes.py\n")
        f.writelines(_line_of(row) for row in sorted(rows, key=lambda row: row.name))
    os.replace(path + ".new", path)


def record(sights):
    """Of a run: for a later import."""
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "flakes.tsv"), "a", encoding="utf-8") as f:
        f.writelines(_line_of(sight) for sight in sights)


def sights_of_log(text):
    return [Sight(name, kind, time, commit, int(failed), int(runs), words)
            for name, failed, runs, kind, time, commit, words in _LINE.findall(text)]


def add(rows, sights):
    """The ledger with these sights; what it has already, by the time of its last one, is not added again."""
    known = {row.name: dataclasses.replace(row) for row in rows}
    for sight in sorted((sight for sight in sights if sight.kind != "judged"), key=lambda sight: sight.time):
        at = f"{sight.time} {sight.commit}"
        row = known.setdefault(sight.name, Row(sight.name, sight.kind, at, "", 0, "open", ""))
        if sight.time <= row.last.partition(" ")[0]:
            continue
        again = sight.kind == "fuzz" and sight.commit == row.last.partition(" ")[2]  # the same input in the same code
        row.sights = 1 if row.state != "open" else row.sights + (not again)
        row.kind, row.last, row.state, row.words = sight.kind, at, "open", words_of(sight.words)
    return list(known.values())


def add_judged(rows, sights):
    """The tally with these sights; a run that is in it already, by the time of its last one, is not added again."""
    known = {row.name: row for row in rows}
    for sight in sorted((sight for sight in sights if sight.kind == "judged"), key=lambda sight: sight.time):
        row = known.get(sight.name, Judged(sight.name, 0, 0, ""))
        if sight.time > row.last:
            known[sight.name] = Judged(sight.name, row.runs + sight.runs, row.passed + sight.runs - sight.failed, sight.time)
    return list(known.values())


def faults_of_tally(rows):
    """Why this tally may not be committed."""
    return [f"{row.name}: passed {row.passed} of {row.runs} since its last mend, which is no chance where {outcomes.PROMISE:.0%} are "
            f"promised: mend it, then `flakes.py mend`" for row in rows if outcomes.is_broken(row.passed, row.runs)]


def mend(rows, name, commit):
    """A sight from before now says nothing of the mend."""
    if name not in {row.name for row in rows}:
        raise SystemExit(f"flakes.py: the ledger has no {name!r}")
    return [dataclasses.replace(row, sights=0, state=f"mended {commit}", last=f"{now()} {commit}") if row.name == name else row
            for row in rows]


def faults(rows):
    """Why this ledger may not be committed; the first test that every change meets. By its rows alone, without a clock."""
    names = [row.name for row in rows]
    found = [f"{name}: more than one row" for name in sorted({name for name in names if names.count(name) > 1})]
    is_open = [row for row in rows if row.state == "open"]
    found += [f"{row.name}: seen {row.sights} times since its last mend: mend it, then `flakes.py mend`; hunt it by "
              f"tests/run.sh --name '{row.name}' --times 20 --under-load" for row in is_open if row.sights >= MAX_SIGHTS]
    found += [f"{row.name}: state {row.state!r}" for row in rows if not re.fullmatch(r"open|mended [0-9a-f]{7,40}", row.state)]
    if len(is_open) > MAX_OPEN:
        found.append(f"{len(is_open)} rows are open: at most {MAX_OPEN} may be")
    return found


def import_finds(rows):
    """The inputs of open finds come into the tree with their rows, and leave it when they are mended."""
    is_open = {row.name.removeprefix("fuzz: ") for row in rows if row.kind == "fuzz" and row.state == "open"}
    for name in is_open:
        with contextlib.suppress(FileNotFoundError):
            os.makedirs(FINDS, exist_ok=True)
            shutil.copy(os.path.join(cached_finds(), name), FINDS)
    for name in set(os.listdir(FINDS)) - is_open if os.path.isdir(FINDS) else ():
        os.unlink(os.path.join(FINDS, name))


def main(argv):
    match argv:
        case ["import", *log] if len(log) <= 1:
            if log:
                with open(log[0], encoding="utf-8", errors="replace") as f:
                    sights = sights_of_log(f.read())
            else:
                sights = _read(os.path.join(CACHE, "flakes.tsv"), Sight)
            rows = add(read_ledger(), sights)
            import_finds(rows)
            write_ledger(rows)
            write_tally(add_judged(read_tally(), sights))
        case ["mend", name, _] if name in {row.name for row in read_tally()}:
            write_tally([Judged(name, 0, 0, now()) if row.name == name else row for row in read_tally()])
        case ["mend", name, commit]:
            rows = mend(read_ledger(), name, commit)
            import_finds(rows)
            write_ledger(rows)
        case ["check"]:
            found = faults(read_ledger()) + faults_of_tally(read_tally())
            print("\n".join(found))
            return 1 if found else 0
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
