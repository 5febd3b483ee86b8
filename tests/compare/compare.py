#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""compare.py KEPT OLD_PROGRAM NEW_PROGRAM OUT EXPECTED: see tests/compare.sh.

A field is "report.md", or "incident.json:answer.sentence" of what is JSON, with * for an index of a list.
"""
import collections
import fnmatch
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bench"))

import corpus_names  # noqa: E402
import corpus_table  # noqa: E402

MAX_SHOWN = 3  # of the places where one field differs
BATCH = 50


def expected_rows(path):
    with open(path, encoding="utf-8") as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines if line.strip() and not line.startswith("#")]
    for row in rows:
        if len(row) != 2 or not all(row):
            sys.exit(f"{path}: not a field, a tab and a reason: {row}")
    return dict(rows)


def inputs_of(kept):
    """Directories of incidents, and recordings."""
    found = []
    for kind in ("incidents", "recordings"):
        directory = os.path.join(kept, kind)
        found += [os.path.join(directory, name) for name in sorted(os.listdir(directory))] if os.path.isdir(directory) else []
    return found


def outputs(program, inputs, out):
    """{input's name and file: text} of a build. One that cannot be read is an output like others: its error."""
    os.makedirs(out, exist_ok=True)
    errors = []
    for at in range(0, len(inputs), BATCH):
        done = subprocess.run([program, "--out", out, *inputs[at:at + BATCH]], capture_output=True, text=True, timeout=900,
                              errors="surrogateescape", check=False)
        if done.returncode not in (0, 1):
            sys.exit(f"{program} ended with {done.returncode}: {done.stderr[-2000:]}")
        errors += done.stderr.splitlines()
    texts = {"errors": "\n".join(errors)}
    for directory, _, files in os.walk(out):
        for name in files:
            path = os.path.join(directory, name)
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                texts[os.path.relpath(path, out)] = file.read()
    return texts


def leaves(value, path=""):
    """(path, value) of everything in it that is neither an object nor a list."""
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for one in value:
            yield from leaves(one, path + ".*")
        yield path + ".length", len(value)
    else:
        yield path, value


def fields_of(file, text):
    """{field: its values} of one output."""
    if file.endswith(".json") and text:
        try:
            fields = collections.defaultdict(list)
            for path, value in leaves(json.loads(text)):
                fields[f"{file}:{path}"].append(value)
            return fields
        except ValueError:
            pass
    return {file: [text]}


def first_difference(old, new):
    """The lines, or the values, where they begin to differ."""
    a, b = (str(one).split("\n") if isinstance(one, str) else [one] for one in (old, new))
    for x, y in zip(a + [None], b + [None]):
        if x != y:
            return f"{str(x)[:200]!r} -> {str(y)[:200]!r}"
    return f"{len(a)} lines -> {len(b)}"


def differences(old, new):
    """{field: [(incident, what)]}"""
    found = collections.defaultdict(list)
    for name in sorted(old.keys() | new.keys()):
        if old.get(name) == new.get(name):
            continue
        incident, file = os.path.split(name)
        if name not in old or name not in new:
            found[file].append((incident, "only " + ("before" if name in old else "now")))
            continue
        a, b = fields_of(file, old[name]), fields_of(file, new[name])
        changed = [field for field in sorted(a.keys() | b.keys()) if a.get(field) != b.get(field)]
        if not changed:  # order, spaces, escapes: bytes that a parser does not see
            found[file].append((incident, first_difference(old[name], new[name])))
        for field in changed:
            one, two = (x.get(field, [None]) for x in (a, b))
            at = next((i for i, (x, y) in enumerate(zip(one, two)) if x != y), None)
            what = first_difference(one[at], two[at]) if at is not None else f"{len(one)} values -> {len(two)}"
            found[field].append((incident, what))
    return found


def causes(texts):
    """{incident: cause by the rules of a build}; "(none)" where nothing is named."""
    return {os.path.dirname(name): text.split(" ", 1)[0] for name, text in texts.items() if name.endswith("/judged.txt")}


def judged(text):
    """(cause, answer) of a judged.txt: a line of the verdict, one of the sentence, one of the culprit if there is one."""
    lines = text.split("\n")
    culprit = next((line.removeprefix("  culprit: ") for line in lines if line.startswith("  culprit: ")), None)
    return lines[0].split(" ", 1)[0], {"sentence": lines[1] if len(lines) > 1 else "", "culprit": culprit and {"code": culprit}}


def marks(texts, runs, words):
    """{name of a labelled run: (whether the cause is right, how it names who did it)}"""
    given = {}
    for name, text in texts.items():
        run = runs.get(os.path.dirname(name)) if name.endswith("/judged.txt") else None
        if run:
            cause, answer = judged(text)
            named = "named " + (corpus_names.score(answer, *words[run.name]) if run.name in words else "not asked")
            given[run.name] = ("cause right" if cause in run.expected else "cause WRONG", named)
    return given


def marks_lines(old, new):
    """Of incidents whose label is known, what the two builds get right, and each that moved."""
    runs, words = {run.name: run for run in corpus_table.read_runs("all")}, corpus_table.read_answers()
    a, b = marks(old, runs, words), marks(new, runs, words)
    lines = []
    for title, given in (("before", a), ("now", b)):
        counts = collections.Counter(mark for pair in given.values() for mark in pair)
        lines.append(f"{len(given)} labelled runs {title}: " + ", ".join(f"{mark} {count}" for mark, count in sorted(counts.items())))
    return lines + [f"  {name}: {', '.join(a[name])} -> {', '.join(b[name])}" for name in sorted(a.keys() & b.keys()) if a[name] != b[name]]


def verdict(found, expected):
    """(lines to print, whether it is as expected)"""
    matched, lines, is_good = set(), [], True
    for field, places in sorted(found.items()):
        row = next((row for row in expected if fnmatch.fnmatchcase(field, row)), None)
        if row is not None:
            matched.add(row)
            lines.append(f"expected: {field} in {len(places)}: {expected[row]}")
            continue
        is_good = False
        lines.append(f"DIFFERS: {field} in {len(places)}")
        lines += [f"    {incident}: {what}" for incident, what in places[:MAX_SHOWN]]
    for row in expected.keys() - matched:
        is_good = False
        lines.append(f"STALE: nothing differs by {row}")
    return lines, is_good


def main(kept, old_program, new_program, out, expected):
    inputs = inputs_of(kept)
    old, new = (outputs(program, inputs, os.path.join(out, name)) for program, name in
                ((old_program, "old"), (new_program, "new")))
    lines, is_good = verdict(differences(old, new), expected_rows(expected))
    print("\n".join(lines))
    before, now = causes(old), causes(new)
    moved = collections.Counter((before.get(one), now.get(one)) for one in before.keys() | now.keys()
                                if before.get(one) != now.get(one))
    nobody = [sum(cause == "(none)" for cause in of.values()) for of in (before, now)]
    print(f"{len(inputs)} kept incidents and recordings, {len(old)} and {len(new)} outputs; a cause is named in "
          f"{len(before) - nobody[0]} of {len(before)}, now in {len(now) - nobody[1]} of {len(now)}")
    for (a, b), count in moved.most_common():
        print(f"  {count} x {a} -> {b}")
    print("\n".join(marks_lines(old, new)))
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
