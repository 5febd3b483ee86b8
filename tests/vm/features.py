#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""features.py FOLDER [--write] [--table F]: the table of features by kernel, from the output of `oomwitness doctor --json` on
each (FOLDER/KERNEL.doctor.json).

Without --write it compares: exit status 1, with a line for each feature that has a worse rung than in the table, or that
the table does not know. Kernels are compared by their line (5.10, 6.1, ...), not by their release: releases move. A
machine's own kernel is compared only with the same version's column. With --write the table is made anew; a
kernel without a doctor.json keeps the column it has.
"""
import argparse
import json
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
LINES = ("5.10", "6.1", "6.12", "newest", "host")
RUNGS = ("fentry", "tp_btf", "raw_tp", "files", "none")  # best first
HEAD = "<!-- SPDX-License-" + """Identifier: Apache-2.0 -->
<!-- Written by tests/vm/features.py --write from a run; not by hand. tests/run.sh fails where a rung got worse. -->
# Features by kernel

Each cell is the best rung that works there, as `oomwitness doctor` says: fentry, tp_btf, raw_tp, files, none.
"""


class Column:
    """The features of one kernel: {feature: (rung, [reasons why it is not a better one])}."""

    def __init__(self, release, cgroups, features):
        self.release, self.cgroups, self.features = release, cgroups, features

    @classmethod
    def of_doctor(cls, doctor):
        features = {f["feature"]: (f["rung"], notes_of(f)) for f in doctor["features"]}
        return cls(doctor["kernel_release"], doctor["cgroup_version"], features)

    def version(self):
        match = re.match(r"\d+\.\d+", self.release)
        return match[0] if match else self.release


def notes_of(feature):
    notes = [f"lost: {feature['lost']}"] if feature["lost"] else []
    return notes + [f"{r['rung']} refused: {r['reason']}" for r in feature["refused"]]


def plain(text):
    """One line that Markdown takes as text: reasons are the kernel's words."""
    line = " ".join(text.split())
    return re.sub(r"([\\`*_{}\[\]<>|])", r"\\\1", "".join(c if c.isprintable() else "?" for c in line))


def read_folder(folder):
    columns = {}
    for line in LINES:
        path = os.path.join(folder, f"{line}.doctor.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                columns[line] = Column.of_doctor(json.load(f))
    return columns


def render(columns):
    lines = [line for line in LINES if line in columns]
    names = list(dict.fromkeys(name for line in lines for name in columns[line].features))
    notes = []  # in order of first use

    def cell(line, name):
        rung, reasons = columns[line].features.get(name, ("none", []))
        return " ".join([rung, *(f"[{number_of(reason)}]" for reason in reasons)])

    def number_of(reason):
        if reason not in notes:
            notes.append(reason)
        return notes.index(reason) + 1

    rows = [["feature", *lines], ["---"] * (len(lines) + 1),
            ["kernel", *(columns[line].release for line in lines)],
            ["memory cgroups", *(columns[line].cgroups for line in lines)]]
    rows += [[name, *(cell(line, name) for line in lines)] for name in names]
    table = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    return f"{HEAD}\n{table}\n\n" + "\n".join(f"{n}. {plain(note)}" for n, note in enumerate(notes, 1)) + "\n"


def parse(text):
    """What render() wrote: {line: Column}."""
    rows = [[c.strip() for c in row.strip("|").split("|")] for row in text.splitlines() if row.startswith("| ")]
    notes = [re.sub(r"\\(.)", r"\1", m[1]) for m in re.finditer(r"^\d+\. (.*)$", text, re.M)]
    if not rows:
        return {}
    columns = {}
    for at, line in enumerate(rows[0][1:], 1):
        features = {row[0]: cell_of(row[at], notes) for row in rows[4:]}
        columns[line] = Column(rows[2][at], rows[3][at], features)
    return columns


def cell_of(cell, notes):
    rung, *numbers = cell.split()
    return rung, [notes[int(n.strip("[]")) - 1] for n in numbers]


def worse(known, now):
    """Lines on what `now` has lost against `known`, both {line: Column}."""
    found = []
    for line, column in now.items():
        old = known.get(line)
        if line == "host" and old and old.version() != column.version():
            continue
        if old is None:
            found.append(f"{line}: not in the table")
            continue
        for name in sorted(old.features.keys() | column.features.keys()):
            found += compared(line, name, old.features.get(name), column.features.get(name))
    return found


def rank(rung):
    """0 is best; one that this script does not know is worse than all."""
    return RUNGS.index(rung) if rung in RUNGS else len(RUNGS)


def compared(line, name, old, now):
    if old is None:
        return [f"{line}: {name} is not in the table (features.py --write)"]
    if now is None:
        return [f"{line}: {name} was {old[0]}, and doctor no longer knows it"]
    if rank(now[0]) > rank(old[0]):
        return [f"{line}: {name} was {old[0]}, is {now[0]}: {'; '.join(now[1]) or 'no reason given'}"]
    return []


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--table", default=os.path.join(HERE, "features.md"))
    options = parser.parse_args()
    now = read_folder(options.folder)
    known = {}
    if os.path.exists(options.table):
        with open(options.table, encoding="utf-8") as f:
            known = parse(f.read())
    if options.write:
        with open(options.table, "w", encoding="utf-8") as f:
            f.write(render({**known, **now}))
        return 0
    found = worse(known, now) if now else ["no doctor.json at all"]
    print("\n".join(found) or f"features as in the table, or better: {', '.join(now)}", flush=True)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
