#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""results.py KERNEL FOLDER RESULTS PARTS: what a VM left in FOLDER becomes RESULTS/vm.NAME-OF-FOLDER.xml, JUnit with names
vm.KERNEL.SUITE.TEST, and RESULTS/KERNEL.doctor.json. Whatever the VM should have left and did not is a failed test; one that ended
only when it was booted again is a flake: RESULTS/flaky.txt.
"""
import os
import shutil
import sys
import xml.etree.ElementTree as xml

sys.path.insert(1, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import flakes  # noqa: E402
import outcomes  # noqa: E402

PARTS = ("doctor", "bpf", "e2e")
NO_VM = 3  # run.sh's exit status


class Kernel:
    """The results of one kernel: test cases under its name."""

    def __init__(self, kernel, folder):
        self.kernel, self.folder = kernel, folder
        self.suite = xml.Element("testsuite", name=f"vm.{kernel}")

    def add(self, name, outcome="pass", reason="", seconds="0", kind="other", is_judged=False):
        """kind: of a failure (outcomes.py)."""
        full = f"vm.{self.kernel}.{name}" if name else f"vm.{self.kernel}"
        case = xml.SubElement(self.suite, "testcase", name=full, classname=full, time=seconds)
        if is_judged:
            case.set("judged", "yes")
        if outcome == "fail":
            xml.SubElement(case, "failure", message=reason, type=kind)
        elif outcome == "skip":
            xml.SubElement(case, "skipped", message=reason)

    def text(self, name, default=""):
        try:
            with open(os.path.join(self.folder, name), encoding="utf-8", errors="replace") as f:
                return f.read().strip()
        except OSError:
            return default

    def last_words(self):
        return " | ".join(self.text("log").splitlines()[-3:]) or "no output"

    def exit_status_of(self, part):
        rows = [line.split("\t") for line in self.text("times.tsv").splitlines()]
        return next((int(code) for name, _, code in rows if name == part), None)

    def copy_suite(self, suite):
        """Its cases; and a failure unless it ended as one that wrote all of them does."""
        path, cases = os.path.join(self.folder, suite + ".xml"), 0
        if os.path.exists(path):
            for case in xml.parse(path).iter("testcase"):
                cases += 1
                self.copy_case(suite, case)
        code = self.exit_status_of(suite)
        if code is None:
            self.add(suite, "fail", f"did not end after {cases} tests: {self.last_words()}", kind="late")
        elif code not in (0, 1) or (code == 0 and not cases and suite != "bpf"):
            # A signal to bpf_tests is ours; one to the interpreter under emulation is not.
            is_late = suite != "bpf" and code > 128
            self.add(suite, "fail", f"ended with {code} after {cases} tests: {self.last_words()}", kind="late" if is_late else "crash")

    def copy_case(self, suite, case):
        name = case.get("name")
        if case.get("classname") not in (None, "e2e"):
            name = f"{case.get('classname')}.{name}"
        outcome = outcomes.outcome_of(case)
        told = next((part for part in case if part.tag in ("failure", "skipped")), None)
        reason = " ".join((told.get("message") or told.text or "").split()) if told is not None else ""
        self.add(f"{suite}.{name}", outcome, reason, case.get("time", "0"), outcomes.class_of(case) if outcome == "fail" else "",
                 case.get("judged") is not None)

    def write(self, path):
        self.suite.set("tests", str(len(self.suite)))
        xml.ElementTree(self.suite).write(path, encoding="utf-8", xml_declaration=True)
        return any(case.find("failure") is not None for case in self.suite)


    def judge_doctor(self):
        code = self.exit_status_of("doctor")
        if code is None:
            self.add("doctor", "fail", f"did not run: {self.last_words()}", kind="late")
        elif code != 0:
            self.add("doctor", "fail", f"the main job cannot be done: {self.last_words()}")
        else:
            self.add("doctor")


def read(kernel, folder, parts=PARTS):
    found = Kernel(kernel, folder)
    if found.text("status") == str(NO_VM):
        found.add("", "skip", found.last_words())
        return found
    for part in parts:
        if part == "doctor":
            found.judge_doctor()
        else:
            found.copy_suite(part)
        if found.exit_status_of(part) is None:
            break  # the VM ended there: one failure, whatever would have come after it
    return found


def note_second_boot(found, results):
    part, _, words = found.text("again").partition("\t")
    if part and found.exit_status_of(part) is not None:  # else it is a failure
        sight = flakes.sight(f"vm: vm.{found.kernel}.{part}", "late", 1, 2, words)
        with open(os.path.join(results, "flaky.txt"), "a", encoding="utf-8") as f:
            f.write(sight.line() + "\n")


def main():
    kernel, folder, results, parts = sys.argv[1:5]
    found = read(kernel, folder, parts.split())
    doctor = os.path.join(folder, "doctor.json")
    if found.exit_status_of("doctor") is not None and os.path.exists(doctor):
        shutil.copy(doctor, os.path.join(results, f"{kernel}.doctor.json"))
    note_second_boot(found, results)
    return 1 if found.write(os.path.join(results, f"vm.{os.path.basename(folder)}.xml")) else 0


if __name__ == "__main__":
    sys.exit(main())
