#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the end-to-end tests: one line each, details of failures after it, JUnit XML on demand.

run.py [--binary B] [--folder D] [--junit F [--resume]] [--choose F] [--gate | --rest] [--lanes N] [-k SUBSTRING ...] [--name NAME]
"""
import argparse
import atexit
import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.dirname(HERE))
import outcomes  # noqa: E402

MAX_WORDS = 1000  # of a failure's message
GATE = os.path.join(os.path.dirname(HERE), "gate.tsv")


def class_of(error, test):
    """Of a failure (outcomes.py): what its exception says of itself (harness/wait.py), that a wait ran out, or that a test that
    judges chance missed."""
    is_late = issubclass(error, (TimeoutError, subprocess.TimeoutExpired))
    kind = "late" if is_late else getattr(error, "failure_class", "other")
    return "judged" if kind in ("late", "other") and is_judged(test) else kind


def is_judged(test):
    return getattr(getattr(test, getattr(test, "_testMethodName", ""), None), "judged", False)


class Lines(unittest.TestResult):
    """Results are on disk after each test that ran: a run that is ended half-way has shown its first half."""

    def __init__(self, junit=None, earlier=()):
        super().__init__()
        self.junit = junit
        self.earlier = list(earlier)  # results of a run that was ended half-way, as XML
        self.cases = []  # (test, outcome, text, class and words of a failure, seconds)
        self.printed = {}  # of the running test: (outcome, text, class and words)

    def startTest(self, test):
        super().startTest(test)
        self._start = time.monotonic()

    def stopTest(self, test):
        super().stopTest(test)
        self._finish(test, *self.printed.pop(test, ("pass", "", None)), time.monotonic() - self._start)

    def _finish(self, test, outcome, text, failure, seconds):
        self.cases.append((test, outcome, text, failure, seconds))
        reason = f": {text}" if outcome == "skip" else f" [{failure[0]}]" if outcome == "fail" else ""
        print(f"{outcome.upper():4}  {name_of(test)} ({seconds:.1f} s){reason}", flush=True)
        if outcome == "fail":
            print(text, flush=True)
        self.write()

    def write(self):
        if self.junit:
            write_junit(self.junit, self.earlier, self.cases)

    def _fail(self, test, err):
        _, known, failure = self.printed.get(test, ("", "", None))
        now = (class_of(err[0], test), clean(" ".join(f"{err[0].__name__}: {err[1]}".split()))[:MAX_WORDS])
        if failure is None or outcomes.worst([failure[0], now[0]]) != failure[0]:
            failure = now  # of several the worst, and of those the first
        self._note(test, "fail", known + self._exc_info_to_string(err, test), failure)

    def _note(self, test, outcome, text, failure=None):
        if hasattr(test, "_testMethodName"):
            self.printed[test] = (outcome, text, failure)
        else:  # a fixture of a class or a folder: no test of it is started
            self._finish(test, outcome, text, failure, 0.0)

    def addError(self, test, err):
        super().addError(test, err)
        self._fail(test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._fail(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._fail(test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._note(test, "skip", reason)


def name_of(test):
    return test.id().removeprefix("test_")


def tests_in(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from tests_in(test)
        else:
            yield test


def named_in(path, suite, stage=""):
    """[(test, words)] of lines "PATTERN<TAB>WORDS", patterns without `stage`, with which they must begin. A pattern that names
    nothing is an error: it protects nothing."""
    tests = list(tests_in(suite))
    with open(path, encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    for pattern, words in lines:
        if not pattern.startswith(stage):
            continue
        named = [test for test in tests if fnmatch.fnmatchcase(name_of(test), pattern.removeprefix(stage))]
        if not named:
            sys.exit(f"{path}: no test is named {pattern}")
        yield from ((test, words) for test in named)


def of_the_gate(suite, folder):
    """Names of the tests that every change must pass."""
    return {name_of(test) for test, _ in named_in(GATE, suite, os.path.basename(os.path.abspath(folder)) + ": ")}


def results_of(path):
    """The results that a run left which was ended half-way; none if it left no file."""
    return list(xml.parse(path).iter("testcase")) if os.path.exists(path) else []


def without(suite, names):
    """The suite without the tests that have these names."""
    return unittest.TestSuite(test for test in tests_in(suite) if name_of(test) not in names)


def write_junit(path, earlier, cases):
    suite = xml.Element("testsuite", name="e2e", tests=str(len(earlier) + len(cases)))
    suite.extend(earlier)
    for test, outcome, text, failure, seconds in cases:
        case = xml.SubElement(suite, "testcase", name=name_of(test), classname="e2e", time=f"{seconds:.3f}")
        if is_judged(test):
            case.set("judged", "yes")
        if outcome == "skip":
            xml.SubElement(case, "skipped", message=text)
        if outcome == "fail":
            lines = [clean(line) for line in text.strip().splitlines()]
            xml.SubElement(case, "failure", message=failure[1], type=failure[0]).text = "\n".join(lines[-20:])
    xml.ElementTree(suite).write(path + ".new", encoding="utf-8", xml_declaration=True)
    os.replace(path + ".new", path)


class Lane:
    """One class of tests in a process of its own. What it prints comes when it has ended, so that lines of two do not mix."""

    def __init__(self, name, tests, folder):
        self.name, self.junit = name, os.path.join(folder, name + ".xml")
        self._output = open(os.path.join(folder, name), "w+", encoding="utf-8", errors="replace")
        self.pid = os.fork()
        if self.pid == 0:
            os.dup2(self._output.fileno(), 1)
            os.dup2(self._output.fileno(), 2)
            status = 1
            try:
                unittest.TestSuite(tests).run(Lines(self.junit))
                status = 0
            finally:
                atexit._run_exitfuncs()  # what the harness removes at its end; os._exit does not
                sys.stdout.flush()
                os._exit(status)

    def ended(self, status):
        """Its results, as XML; one that ended half-way is a failure of its own."""
        self._output.seek(0)
        print(self._output.read(), end="", flush=True)
        self._output.close()
        results = results_of(self.junit)
        if status != 0:
            case = xml.Element("testcase", name=self.name, classname="e2e", time="0")
            xml.SubElement(case, "failure", message=f"the runner ended with {status}", type="crash")
            results.append(case)
        return results


def run_in_lanes(suite, result, lanes):
    """Classes of tests beside each other, most of whose time is waiting, the long ones first; after them, one by one, those that say `alone`: they
    fill the kernel's log or the machine, or measure what others would change."""
    classes = {}
    for test in tests_in(suite):
        classes.setdefault(name_of(test).rpartition(".")[0], []).append(test)
    waiting = [name for name, tests in classes.items() if not getattr(tests[0], "alone", False)]
    running = {}
    folder = tempfile.mkdtemp(prefix="oomw-lanes-")  # no TemporaryDirectory: a lane's end would remove it

    def wait_until(fewer_than):
        while len(running) >= fewer_than:
            pid, status = os.wait()
            if pid in running:
                result.earlier += running.pop(pid).ended(os.waitstatus_to_exitcode(status))
                result.write()

    for name in sorted(waiting, key=lambda name: not getattr(classes[name][0], "long", False)):
        wait_until(fewer_than=lanes)
        lane = Lane(name, classes[name], folder)
        running[lane.pid] = lane
    wait_until(fewer_than=1)
    shutil.rmtree(folder)
    unittest.TestSuite(test for name, tests in classes.items() if name not in waiting for test in tests).run(result)


def clean(text):
    return "".join(c if c.isprintable() else "?" for c in text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", help="the oomwitness to test")
    parser.add_argument("--folder", default=HERE, help="of other tests to run in the same way")
    parser.add_argument("--junit", help="write results to this file")
    parser.add_argument("--resume", action="store_true", help="keep the results in --junit's file; run the other tests")
    parser.add_argument("--choose", help="a file of lines PATTERN<TAB>WHY: only these tests")
    parser.add_argument("--gate", action="store_true", help="only the tests that gate.tsv names")
    parser.add_argument("--rest", action="store_true", help="only those that it does not")
    parser.add_argument("--lanes", type=int, default=1, help="so many classes of tests beside each other")
    parser.add_argument("-k", action="append", default=[], help="only tests whose name holds this")
    parser.add_argument("--name", help="only the test that has this name")
    options = parser.parse_args()
    if options.binary:
        os.environ["OOMWITNESS"] = os.path.abspath(options.binary)
    os.umask(0o022)
    sys.path.insert(0, HERE)
    loader = unittest.TestLoader()
    loader.testNamePatterns = [f"*{k}*" for k in options.k] or None
    result = Lines(options.junit, results_of(options.junit) if options.resume else ())
    suite = loader.discover(options.folder)
    if options.choose:
        chosen = {name_of(test) for test, _ in named_in(options.choose, suite)}
        suite = unittest.TestSuite(test for test in tests_in(suite) if name_of(test) in chosen)
    if options.gate or options.rest:
        chosen = of_the_gate(suite, options.folder)
        suite = unittest.TestSuite(test for test in tests_in(suite) if (name_of(test) in chosen) == options.gate)
    if options.name:
        suite = unittest.TestSuite(test for test in tests_in(suite) if name_of(test) == options.name)
    suite = without(suite, {case.get("name") for case in result.earlier})
    if options.lanes > 1:
        run_in_lanes(suite, result, options.lanes)
    else:
        suite.run(result)
    result.write()
    failed = [case for case in result.cases if case[1] == "fail"] + result.unexpectedSuccesses
    failed += [case for case in result.earlier if case.find("failure") is not None]
    count = len(result.earlier) + len(result.cases)
    print(f"e2e: {count} tests, {len(failed)} failed", flush=True)
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
