#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Adds up a folder of results: JUnit XML of ctest, gtest and tests/e2e/run.py, and plain.tsv.

Prints skips by their reasons, failures, and last the line "N passed, N failed, N skipped": whoever reads the end of a long
output only sees what failed.
"""
import glob
import os
import re
import sys
import xml.etree.ElementTree as xml

MAX_NAMES = 4  # of those that share a reason; each was printed when it was skipped
MAX_LINES = 6  # of a failure, its last: the output above may be out of reach
MAX_LINE = 200


def skip_reason(case):
    """gtest and e2e write it into <skipped>; ctest only keeps the output."""
    for skipped in case.iter("skipped"):
        message = (skipped.get("message") or skipped.text or "").strip()
        if message and "SKIP_REGULAR_EXPRESSION" not in message.upper():
            return " ".join(message.splitlines()[-1:])
    output = case.findtext("system-out") or ""
    match = re.search(r"Skipped\n(.*?)\n*\[  SKIPPED", output, re.S)
    return " ".join(match[1].split()) if match else "no reason given"


def failure_reason(case):
    """The end of what the framework wrote about it; ctest only keeps the output."""
    texts = [(part.text or part.get("message") or "") for tag in ("failure", "error") for part in case.iter(tag)]
    text = "\n".join(text for text in texts if text.strip()) or case.findtext("system-out") or ""
    lines = [line.strip()[:MAX_LINE] for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-MAX_LINES:])


def outcome_of(case):
    if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
        return "fail"
    is_skipped = case.find("skipped") is not None or case.get("result") == "skipped"
    return "skip" if is_skipped or case.get("status") in ("notrun", "disabled") else "pass"


def read_junit(path):
    stage = os.path.basename(path).split(".")[0]
    for case in xml.parse(path).iter("testcase"):
        outcome = outcome_of(case)
        name = case.get("name")
        if case.get("classname") not in (None, name, "e2e"):
            name = f"{case.get('classname')}.{name}"
        reason = {"skip": skip_reason, "fail": failure_reason, "pass": lambda case: ""}[outcome](case)
        yield outcome, f"{stage}: {name}", reason


def read_plain(path):
    with open(path) as f:
        for line in f:
            outcome, name, reason = line.rstrip("\n").split("\t")
            yield outcome, name, reason


def print_skips(skips):
    """One line for each reason: on several kernels there are hundreds."""
    names = {}
    for name, reason in skips:
        names.setdefault(reason, []).append(name)
    for reason, of in names.items():
        more = f" and {len(of) - MAX_NAMES} more" if len(of) > MAX_NAMES else ""
        print(f"skipped: {', '.join(of[:MAX_NAMES])}{more}: {reason}")


def main():
    folder = sys.argv[1]
    results = [r for path in sorted(glob.glob(f"{folder}/*.xml")) for r in read_junit(path)]
    if os.path.exists(f"{folder}/plain.tsv"):
        results += read_plain(f"{folder}/plain.tsv")
    count = {o: sum(r[0] == o for r in results) for o in ("pass", "fail", "skip")}
    print_skips([(name, reason) for outcome, name, reason in results if outcome == "skip"])
    for outcome, name, reason in results:
        if outcome == "fail":
            print(f"failed: {name}{': ' + reason if reason else ''}")
    print(f"{count['pass']} passed, {count['fail']} failed, {count['skip']} skipped", flush=True)
    return 1 if count["fail"] or not results else 0


if __name__ == "__main__":
    sys.exit(main())
