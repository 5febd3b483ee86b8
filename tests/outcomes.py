# SPDX-License-Identifier: Apache-2.0
"""The results of a run: a folder, or folders of folders, with JUnit XML of ctest, gtest and tests/e2e/run.py, what ctest printed (*.ctest), and
plain.tsv with what no framework writes. Every failure has a class, which decides whether it may be run again (rerun.py):

  build      something does not build
  crash      oomwitness, a test's binary or a stage's runner ended by a signal or without results
  sanitizer  a report of asan, ubsan, tsan or lsan
  lost       a kill or a count is missing, or something is left behind
  corpus     an input of a replayed corpus fails
  fuzz       a find of random fuzzing
  late       a wait ran out, a VM ended without a status, an emulated interpreter died
  judged     a test that judges chance (a detector, a share, a latency) missed: it is marked @judged, and keeps a promise, PROMISE
  other      everything else
"""
import dataclasses
import glob
import math
import os
import re
import xml.etree.ElementTree as xml

CLASSES = ("build", "crash", "sanitizer", "lost", "corpus", "fuzz", "other", "judged", "late")  # the worst first
PROMISE = 0.95  # of a judged test: how often it passes at the least
CHANCE = 0.001  # red where a test that keeps it would do so badly no more often
MAX_LINES = 6  # of a failure, its last: the output above may be out of reach
MAX_LINE = 200

_REPORT = re.compile(r"(ERROR|WARNING): (Address|Leak|Memory|Thread)Sanitizer|^SUMMARY: \w+Sanitizer|runtime error: ", re.M)
_LOST = re.compile(r"\blost kill:")  # tests/bpf/kernel_fixture.h
# What ctest prints of a test in the list at its end: "2 - name (SEGFAULT)".
_CTEST_END = re.compile(r"^\s+\d+ - (.+) \(([^()]+)\)$", re.M)
_CTEST_CLASS = {"Timeout": "late", "Failed": "other", "Not Run": "build"}  # anything else is a signal


@dataclasses.dataclass
class Result:
    outcome: str  # pass | fail | skip
    name: str  # "STAGE: NAME", unique
    reason: str = ""
    kind: str = ""  # of a failure, one of CLASSES
    is_judged: bool = False


def is_broken(passed, runs):
    """Of a judged test: so few passes have at most CHANCE where the promise is kept."""
    return sum(math.comb(runs, k) * PROMISE**k * (1 - PROMISE)**(runs - k) for k in range(passed + 1)) <= CHANCE


def worst(kinds):
    return min(kinds, key=CLASSES.index)


def read_folder(folder):
    results = []
    for path in sorted(glob.glob(f"{folder}/**/*", recursive=True)):
        if path.endswith(".xml"):
            results += read_junit(path)
        elif os.path.basename(path) == "plain.tsv":
            results += read_plain(path)
    return results


def count(results, forgiven=()):
    """The words that end a run. forgiven: names whose failure does not reject the change."""
    failed = sum(r.outcome == "fail" and r.name not in forgiven for r in results)
    skipped = sum(r.outcome == "skip" for r in results)
    return f"{len(results) - failed - skipped} passed, {failed} failed, {skipped} skipped"


def read_junit(path):
    stage = os.path.basename(path).split(".")[0]
    ends = ctest_ends(path.removesuffix(".xml") + ".ctest")
    for case in xml.parse(path).iter("testcase"):
        name = case.get("name")
        if case.get("classname") not in (None, name, "e2e"):
            name = f"{case.get('classname')}.{name}"
        outcome, is_judged = outcome_of(case), case.get("judged") is not None
        if outcome == "fail":
            yield Result(outcome, f"{stage}: {name}", failure_reason(case, ends.get(name)), class_of(case, ends.get(name)), is_judged)
        else:
            yield Result(outcome, f"{stage}: {name}", skip_reason(case) if outcome == "skip" else "", "", is_judged)


def read_plain(path):
    """Lines OUTCOME<TAB>NAME<TAB>REASON<TAB>CLASS. NAME is "STAGE.NAME"; a failure without a class is `other`."""
    with open(path, encoding="utf-8", errors="replace") as f:
        for line in f:
            outcome, name, reason, kind = (line.rstrip("\n").split("\t") + ["", "", ""])[:4]
            yield Result(outcome, name, reason, (kind or "other") if outcome == "fail" else "")


def ctest_ends(path):
    """{test: how it failed}: ctest's JUnit tells a crash, a time-out and a failed assertion alike."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8", errors="replace") as f:
        return dict(_CTEST_END.findall(f.read().rpartition("The following tests FAILED:")[2]))


def outcome_of(case):
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "fail"
    if "Unable to find executable" in (case.findtext("system-out") or ""):
        return "fail"  # "notrun" to ctest
    is_skipped = case.find("skipped") is not None or case.get("result") == "skipped"
    return "skip" if is_skipped or case.get("status") in ("notrun", "disabled") else "pass"


def texts_of(case):
    texts = [(part.text or part.get("message") or "") for tag in ("failure", "error") for part in case.iter(tag)]
    return "\n".join(text for text in texts if text.strip()) or case.findtext("system-out") or ""


def class_of(case, ctest_end=None):
    """Its writer's word if there is one (run.py, vm/results.py), else by what was printed and how it ended."""
    kinds = [part.get("type") for part in case.iter("failure") if part.get("type") in CLASSES]
    text = texts_of(case)
    if _REPORT.search(text):
        kinds.append("sanitizer")
    if _LOST.search(text):
        kinds.append("lost")
    if ctest_end is not None or not kinds:
        kinds.append(_CTEST_CLASS.get(ctest_end, "crash") if ctest_end else "other")
    return worst(kinds)


def failure_reason(case, ctest_end=None):
    """What its runner says of it (run.py, vm/results.py); else the end of what was printed, of a gtest its failed assertions:
    after those comes the tear-down."""
    said = next((part.get("message") for part in case.iter("failure") if part.get("type") in CLASSES), "")
    if said:
        return said[:MAX_LINES * MAX_LINE]
    text = texts_of(case)
    failed = re.findall(r"^\S+:\d+: Failure\n(?:.+\n)*", text, re.M)
    lines = [line.strip()[:MAX_LINE] for line in "".join(failed[:2] or [text]).splitlines() if line.strip()]
    lines = lines[:MAX_LINES] if failed else lines[-MAX_LINES:]
    return " | ".join(([ctest_end] if ctest_end not in (None, "Failed") else []) + lines)


def skip_reason(case):
    """gtest and e2e write it into <skipped>; ctest only keeps the output."""
    for skipped in case.iter("skipped"):
        message = (skipped.get("message") or skipped.text or "").strip()
        if message and "SKIP_REGULAR_EXPRESSION" not in message.upper():
            return " ".join(message.splitlines()[-1:])
    output = case.findtext("system-out") or ""
    match = re.search(r"Skipped\n(.*?)\n*\[  SKIPPED", output, re.S)
    return " ".join(match[1].split()) if match else "no reason given"
