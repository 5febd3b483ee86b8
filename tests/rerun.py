#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs failed tests again, alone, and decides by their class (outcomes.py) whether they reject the change.

rerun.py RESULTS [--until SECONDS]                      the failures of a run, those of the gate in RESULTS/gate, of the rest in
                                                        RESULTS/rest: writes RESULTS/flaky.txt for summary.py
rerun.py --name NAME [--times N] [--under-load]         hunts a flake: NAME as a "failed:" or "flaky:" line has it

  build, crash, sanitizer, lost, corpus    red at the first sight, never run again
  late                                     flaky if one of two runs alone passes
  judged                                   flaky once two runs alone have passed; red once so many misses cannot be chance, at three
                                           of three or four
  other                                    flaky if both of two runs alone pass; in the rest, if one of two passes
  fuzz                                     red where the input passed before this change (fuzzing.py), else an open row
More than MAX_NAMES failures are red at once: something is broken. Alone: nothing of ours runs beside it.
"""
import argparse
import contextlib
import dataclasses
import glob
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import flakes
import fuzzing
import outcomes

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NEVER_AGAIN = {"build", "crash", "sanitizer", "lost", "corpus"}
MAX_NAMES = 5
RUNS_ALONE = 2
MAX_JUDGED = 4
# Folders of tests/ that tests/e2e/run.py runs.
FOLDERS = ("e2e", "living", "cases", "peers", "web", "newcomer", "hostile", "deploy", "cluster")
OWN_VM = ("cases", "languages")  # parts of tests/vm/suite.sh that have a VM of their own
LIMIT_S = 1200  # of one run alone: a VM with all its tests


@dataclasses.dataclass
class Verdict:
    name: str
    kind: str
    verdict: str  # red | flaky | open (a find of random fuzzing that this change did not bring)
    failed: int  # of `runs`, the first one included
    runs: int
    words: str


def judge(failures, run_alone, was_brought=lambda failure: False, of_the_rest=()):
    """Verdicts on failures (outcomes.Result). run_alone(name) -> (outcome, words). of_the_rest: names that reject only if they
    fail three of three."""
    if sum(f.kind != "fuzz" for f in failures) > MAX_NAMES:
        return [Verdict(f.name, f.kind, "red", 1, 1, f.reason) for f in failures]
    return [_judge_one(failure, run_alone, was_brought, 1 if failure.kind == "late" or failure.name in of_the_rest else RUNS_ALONE)
            for failure in failures]


def _judge_one(failure, run_alone, was_brought, needed):
    made = Verdict(failure.name, failure.kind, "red", 1, 1, failure.reason)
    if failure.kind in NEVER_AGAIN:
        return made
    if failure.kind == "fuzz":
        made.verdict = "red" if was_brought(failure) else "open"
        return made
    passed = 0
    runs_alone, needed = (MAX_JUDGED, RUNS_ALONE) if failure.kind == "judged" else (RUNS_ALONE, needed)
    for left in range(runs_alone, 0, -1):
        if passed + left < needed or (failure.kind == "judged" and outcomes.is_broken(passed, made.runs)):
            break
        result, words = run_alone(failure.name)
        made.runs += 1
        passed += result.outcome == "pass"
        made.failed += result.outcome != "pass"
        if result.kind in NEVER_AGAIN:  # worse than what it failed with first
            made.kind, made.words = result.kind, words
            return made
        if passed == needed:
            made.verdict = "flaky"
            break
    return made


# --- one test, alone


def escaped(name):
    """For ctest -R."""
    return re.sub(r"([][.^$*+?()|\\{}])", r"\\\1", name)


def split(full):
    """"STAGE: NAME" as (stage, name)."""
    stage, _, name = full.partition(": ")
    return stage, name


def vm_parts(name):
    """"vm.6.1.e2e.kills.Kills.test_a" as ("6.1", "e2e", "kills.Kills.test_a"); the last may be empty."""
    match = re.fullmatch(r"vm\.(newest|\d+\.\d+)\.(\w+)(?:\.(.+))?", name)
    return (match[1], match[2], match[3] or "") if match else None


def command_of(full, folder, tree=TREE):
    """What runs that test and leaves its result in `folder`; None if nothing does."""
    stage, name = split(full)
    build = os.path.join(tree, "build/ci")
    if stage in ("ci", "asan", "tsan"):
        return ["ctest", "--test-dir", os.path.join(tree, "build", stage), "-R", f"^{escaped(name)}$", "--timeout", "300",
                "--output-on-failure", "--no-tests=error", "--output-junit", os.path.join(folder, stage + ".xml")]
    if stage == "bpf":
        return [os.path.join(build, "tests/bpf_tests"), f"--gtest_filter={name}", f"--gtest_output=xml:{folder}/bpf.xml"]
    if stage in FOLDERS:
        return ["/usr/bin/python3", os.path.join(tree, "tests/e2e/run.py"), "--folder", os.path.join(tree, "tests", stage),
                "--binary", os.path.join(build, "userspace/oomwitness"), "--junit", f"{folder}/{stage}.xml", "--name", name]
    if stage == "vm" and vm_parts(name):
        kernel, part, test = vm_parts(name)
        return [os.path.join(tree, "tests/vm/suite.sh"), "--kernel", kernel, "--results", folder,
                *(["--part", part] if part in OWN_VM else []), *([test] if test else [])]
    if full == "vm.features":
        return [os.path.join(tree, "tests/vm/suite.sh"), "--part", "doctor", "--results", folder]
    if stage.startswith("systemd"):
        return [os.path.join(tree, "tests/systemd/suite.sh"), "--results", folder, *([name] if name else [])]
    return None


def run_alone(full, tree=TREE, limit_s=LIMIT_S):
    """(its outcomes.Result, its last words). Whatever it started has ended."""
    with tempfile.TemporaryDirectory(prefix="oomw-rerun-") as folder:
        command = command_of(full, folder, tree)
        if command is None:
            return outcomes.Result("fail", full, kind="other"), "nothing runs it alone"
        with open(os.path.join(folder, split(full)[0] + ".ctest"), "w", encoding="utf-8") as log:
            code = _run(command, log, limit_s)
        return _result_in(folder, full, code)


def _run(command, log, limit_s):
    """Its exit status, None if it took too long."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        return process.wait(limit_s)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # a runner ends what it started
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(30)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _result_in(folder, full, code):
    if code is None:
        return outcomes.Result("fail", full, kind="late"), "it did not end"
    results = outcomes.read_folder(folder)
    if scope_of(full):
        found = _whole(full, [r for r in results if r.name.startswith(scope_of(full))])
    else:  # a file of systemd's results is named by the half of its cases that ran
        name = split(full)[1]
        found = [r for r in results if r.name == full or (name and full.startswith("systemd") and split(r.name)[1] == name)]
    if not found:
        crashed = code < 0 or code > 128
        return outcomes.Result("fail", full, kind="crash" if crashed else "other"), f"no result; it ended with {code}"
    return found[0], found[0].reason


def scope_of(full):
    """How the names of the tests begin that run in a VM which itself failed under the name `full`; "" for other names."""
    if full.startswith("systemd."):
        return full.replace(".", "-", 1) + ": "
    parts = vm_parts(split(full)[1])
    if not parts or parts[2]:
        return ""
    return f"vm: vm.{parts[0]}.{parts[1]}." if parts[1] in OWN_VM else f"vm: vm.{parts[0]}."  # what would have come after it, too


def _whole(full, of):
    """A VM without a status is a failure; one that has a status fails by its tests alone."""
    failed = [r for r in of if r.outcome == "fail"]
    if failed:
        return [outcomes.Result("fail", full, f"{failed[0].name}: {failed[0].reason}", outcomes.worst(r.kind for r in failed))]
    return [outcomes.Result("pass", full)] if any(r.outcome == "pass" for r in of) else []


def wait_for_quiet(limit_s=60):
    """Until the machine has processors to spare; some kernels do not measure that."""
    end = time.monotonic() + limit_s
    with contextlib.suppress(OSError):
        while time.monotonic() < end:
            with open("/proc/pressure/cpu", encoding="ascii") as f:
                if float(re.search(r"avg10=([0-9.]+)", f.read())[1]) < 20:
                    return
            time.sleep(2)


# --- commands


def judge_run(results, until_s):
    all_of = {tier: outcomes.read_folder(os.path.join(results, tier)) for tier in ("gate", "rest")}
    gate, rest = ([r for r in of if r.outcome == "fail"] for of in all_of.values())
    end = time.monotonic() + until_s

    def alone(name):
        left = end - time.monotonic()
        if left < 10:
            return outcomes.Result("fail", name, kind="late"), "no time left to run it alone"
        wait_for_quiet(min(60, left))
        began = time.monotonic()
        result, words = run_alone(name, limit_s=min(LIMIT_S, left))
        print(f"alone: {result.outcome.upper()}  {name} ({time.monotonic() - began:.1f} s){': ' + words if words else ''}", flush=True)
        return result, words

    verdicts = judge(gate + rest, alone, lambda failure: fuzzing.was_brought(failure.name), {r.name for r in rest})
    sights = [flakes.sight(v.name, v.kind, v.failed, v.runs, v.words) for v in verdicts if v.verdict != "red"]
    for path in glob.glob(os.path.join(results, "*", "*", "flaky.txt")):  # a stage's own
        with open(path, encoding="utf-8") as f:
            sights += flakes.sights_of_log(f.read())
    passed = [flakes.sight(r.name, "judged", 0, 1, "") for of in all_of.values() for r in of if r.is_judged and r.outcome == "pass"]
    flakes.record(sights + passed)
    with open(os.path.join(results, "flaky.txt"), "w", encoding="utf-8") as f:
        f.writelines(sight.line() + "\n" for sight in sights)
    return 0


@contextlib.contextmanager
def burners():
    """One for each processor, beside the test."""
    started = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


def hunt(name, times, under_load):
    failed = 0
    for number in range(1, times + 1):
        began = time.monotonic()
        with burners() if under_load else contextlib.nullcontext():
            result, words = run_alone(name)
        failed += result.outcome != "pass"
        kind = f" ({result.kind})" if result.kind else ""
        print(f"{number}/{times} {result.outcome}{kind} {time.monotonic() - began:.1f} s{': ' + words if words else ''}", flush=True)
    print(f"{name}: {failed} of {times} failed")
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", nargs="?", help="the folder of a run's results")
    parser.add_argument("--until", type=float, default=600, help="seconds that runs alone may take together")
    parser.add_argument("--name", help="hunt this test")
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--under-load", action="store_true", help="beside a busy process for each processor")
    options = parser.parse_args()
    if bool(options.name) == bool(options.results):
        parser.error("either RESULTS or --name")
    return hunt(options.name, options.times, options.under_load) if options.name else judge_run(options.results, options.until)


if __name__ == "__main__":
    sys.exit(main())
