# SPDX-License-Identifier: Apache-2.0
"""The scripts that judge what a VM left: a wrong verdict here would hide every other one. Needs no VM."""
import copy
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml

from harness import fileio

HERE = os.path.dirname(os.path.abspath(__file__))
VM = os.path.join(os.path.dirname(HERE), "vm")
RUNNER = os.path.join(os.path.dirname(HERE), "e2e/run.py")
sys.path.insert(0, VM)
import choice  # noqa: E402
import features  # noqa: E402
import results  # noqa: E402

DOCTOR = {
    "kernel_release": "6.1.0-50-cloud-amd64", "cgroup_version": "v2", "can_do_main_job": True, "checks": [],
    "features": [
        {"feature": "oom_kill", "rung": "tp_btf", "lost": "the trigger | of a kill",
         "refused": [{"rung": "fentry", "reason": "EPERM: `lsm` <said> [no]"}]},
        {"feature": "watermark", "rung": "tp_btf", "lost": "", "refused": []}]}


def doctor(release="6.1.0-50-cloud-amd64", **rungs):
    made = copy.deepcopy(DOCTOR)
    made["kernel_release"] = release
    for feature in made["features"]:
        feature["rung"] = rungs.get(feature["feature"], feature["rung"])
    return features.Column.of_doctor(made)


class Table(unittest.TestCase):
    def test_table_read_back_is_what_was_written(self):
        table = {"6.1": doctor(), "host": doctor("6.18.44", watermark="files")}
        again = features.parse(features.render(table))
        self.assertEqual(list(again), ["6.1", "host"])
        self.assertEqual(again["6.1"].features, table["6.1"].features)
        self.assertEqual(again["host"].features["watermark"], ("files", []))
        self.assertEqual((again["host"].release, again["host"].cgroups), ("6.18.44", "v2"))

    def test_same_reason_is_one_footnote(self):
        text = features.render({"6.1": doctor(), "6.12": doctor()})
        self.assertEqual(text.count("refused: EPERM"), 1)

    def test_worse_rung_is_found_with_its_reason(self):
        found = features.worse({"6.1": doctor(oom_kill="fentry")}, {"6.1": doctor()})
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0], "^6.1: oom_kill was fentry, is tp_btf: lost: .*EPERM")

    def test_better_rung_and_newer_release_are_fine(self):
        now = doctor("6.1.0-99-cloud-amd64", oom_kill="fentry")
        self.assertEqual(features.worse({"6.1": doctor()}, {"6.1": now}), [])

    def test_kernel_that_was_not_there_is_not_judged(self):
        self.assertEqual(features.worse({"6.1": doctor(), "6.12": doctor()}, {"6.1": doctor()}), [])

    def test_feature_that_the_table_or_doctor_lacks_is_found(self):
        less = doctor()
        del less.features["watermark"]
        self.assertRegex(features.worse({"6.1": less}, {"6.1": doctor()})[0], "watermark is not in the table")
        self.assertRegex(features.worse({"6.1": doctor()}, {"6.1": less})[0], "doctor no longer knows")

    def test_other_machines_kernel_is_not_compared_with_ours(self):
        known = {"host": doctor("6.18.44", oom_kill="fentry")}
        self.assertEqual(features.worse(known, {"host": doctor("6.6.1", oom_kill="files")}), [])
        self.assertTrue(features.worse(known, {"host": doctor("6.18.50", oom_kill="files")}))


class VmResults(unittest.TestCase):
    """A folder as inside.sh leaves it; one thing changed."""

    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory(prefix="oomw-vm-test-"))
        self.put("status", "0")
        self.put("log", "one\ntwo\n")
        self.put("times.tsv", "boot\t5\t0\ndoctor\t2\t0\nbpf\t60\t0\ne2e\t90\t0\n")
        self.put("bpf.xml", '<testsuites><testsuite name="A"><testcase name="loads" classname="A" time="1.5"/>'
                 '</testsuite></testsuites>')
        self.put("e2e.xml", '<testsuite name="e2e"><testcase name="kills.K.a" classname="e2e" time="2"/>'
                 '<testcase name="kills.K.b" classname="e2e" time="0"><skipped message="v1 only"/></testcase></testsuite>')

    def put(self, name, text):
        fileio.write(os.path.join(self.folder, name), text)

    def outcomes(self, kernel="6.1"):
        """{name: outcome or reason}"""
        path = os.path.join(self.folder, "out.xml")
        self.has_failed = results.read(kernel, self.folder).write(path)
        return {case.get("name"): case[0].tag + ": " + case[0].get("message") if len(case) else "pass"
                for case in xml.parse(path).iter("testcase")}

    def classes(self):
        """{name: class} of the failures that outcomes() has written."""
        path = os.path.join(self.folder, "out.xml")
        return {case.get("name"): case[0].get("type") for case in xml.parse(path).iter("testcase") if len(case)
                and case[0].tag == "failure"}

    def test_whole_run_is_taken_over_with_the_kernel_before_each_name(self):
        self.assertEqual(self.outcomes(), {"vm.6.1.doctor": "pass", "vm.6.1.bpf.A.loads": "pass", "vm.6.1.e2e.kills.K.a": "pass",
                                           "vm.6.1.e2e.kills.K.b": "skipped: v1 only"})
        self.assertFalse(self.has_failed)

    def test_kernel_that_cannot_be_had_is_one_skip_with_its_reason(self):
        self.put("status", "3")
        self.put("log", "kernel 6.1: not cached, and no mirror\n")
        self.assertEqual(self.outcomes(), {"vm.6.1": "skipped: kernel 6.1: not cached, and no mirror"})

    def test_suite_that_was_cut_off_is_a_failure_beside_what_it_wrote(self):
        self.put("times.tsv", "boot\t5\t0\ndoctor\t2\t0\nbpf\t60\t0\n")
        found = self.outcomes()
        self.assertEqual(found["vm.6.1.e2e"], "failure: did not end after 2 tests: one | two")
        self.assertEqual(found["vm.6.1.e2e.kills.K.a"], "pass")
        self.assertEqual(self.classes(), {"vm.6.1.e2e": "late"})
        self.assertTrue(self.has_failed)

    def test_vm_that_never_came_up_is_one_failure(self):
        self.put("times.tsv", "")
        self.put("status", "70")
        for name in ("bpf.xml", "e2e.xml"):
            os.unlink(os.path.join(self.folder, name))
        self.assertEqual(self.outcomes(), {"vm.6.1.doctor": "failure: did not run: one | two"})
        self.assertEqual(self.classes(), {"vm.6.1.doctor": "late"})

    def test_interpreter_that_died_under_emulation_is_late_and_our_own_binary_is_not(self):
        self.put("times.tsv", "doctor\t2\t0\nbpf\t60\t139\ne2e\t9\t139\n")
        self.outcomes()
        self.assertEqual(self.classes(), {"vm.6.1.bpf": "crash", "vm.6.1.e2e": "late"})

    def test_failed_test_keeps_its_class(self):
        self.put("e2e.xml", '<testsuite><testcase name="a" classname="e2e"><failure message="gone" type="lost"/></testcase></testsuite>')
        self.outcomes()
        self.assertEqual(self.classes(), {"vm.6.1.e2e.a": "lost"})

    def test_suite_that_crashed_is_a_failure(self):
        self.put("times.tsv", "doctor\t2\t0\nbpf\t60\t139\ne2e\t9\t0\n")
        os.unlink(os.path.join(self.folder, "bpf.xml"))
        self.assertTrue(self.outcomes()["vm.6.1.bpf"].startswith("failure: ended with 139 after 0 tests"))

    def test_failed_test_keeps_its_message(self):
        self.put("e2e.xml", '<testsuite><testcase name="a" classname="e2e"><failure message="1 != 2"/></testcase></testsuite>')
        self.assertEqual(self.outcomes()["vm.6.1.e2e.a"], "failure: 1 != 2")
        self.assertTrue(self.has_failed)

    def test_doctor_that_finds_the_main_job_undone_is_a_failure(self):
        self.put("times.tsv", "doctor\t2\t1\nbpf\t60\t0\ne2e\t9\t0\n")
        self.assertRegex(self.outcomes()["vm.6.1.doctor"], "failure: the main job cannot be done")
        self.assertTrue(self.has_failed)


class SecondBoot(unittest.TestCase):
    """suite.sh, with VMs that are a script."""

    VM = '''#!/bin/bash
set -u
shift 2  # the kernel, inside.sh
echo "$3 on $1, CPUs: $OOMW_VM_CPUS"
[[ $(cat "$OOMW_VM_OUT/../boots" 2>/dev/null) == *x*x ]] || printf x >>"$OOMW_VM_OUT/../boots"
if (($(stat -c %s "$OOMW_VM_OUT/../boots") <= BROKEN)); then echo "[ 9.1] Oops: int3: 0000"; exit 70; fi
printf "$3\\t9\\t0\\n" >>"$OOMW_VM_OUT/times.tsv"
echo '<testsuite><testcase name="a.A.test_a" classname="e2e" time="2"/></testsuite>' >"$OOMW_VM_OUT/$3.xml"
'''

    def run_suite(self, broken, *parts):
        """Its exit status, output, {file: text} of its results."""
        tree = self.enterContext(tempfile.TemporaryDirectory(prefix="oomw-vm-test-"))
        shutil.copytree(VM, f"{tree}/tests/vm")
        for name in ("outcomes.py", "flakes.py"):
            shutil.copy(os.path.join(os.path.dirname(VM), name), f"{tree}/tests/{name}")
        for name, text in (("tests/vm/run.sh", self.VM.replace("BROKEN", str(broken))), ("tests/vm/prepare.py", "#!/bin/true\n"),
                           ("b/tests/bpf_tests", ""), ("b/userspace/oomwitness", "")):
            os.makedirs(os.path.dirname(os.path.join(tree, name)), exist_ok=True)
            fileio.write(os.path.join(tree, name), text)
            os.chmod(os.path.join(tree, name), 0o755)
        os.makedirs(f"{tree}/results")
        done = subprocess.run([f"{tree}/tests/vm/suite.sh", "--kernel", "6.12", "--build", f"{tree}/b", "--results", f"{tree}/results",
                               *(word for part in parts for word in ("--part", part))], text=True, capture_output=True)
        return done.returncode, done.stdout + done.stderr, {name: fileio.read(f"{tree}/results/{name}")
                                                            for name in sorted(os.listdir(f"{tree}/results"))}

    def test_a_vm_that_broke_once_is_a_flake(self):
        status, output, files = self.run_suite(1, "cases")
        self.assertEqual((status, sorted(files)), (0, ["flaky.txt", "vm.6.12.cases.xml"]), output)
        self.assertRegex(files["flaky.txt"], r"^flaky: vm: vm\.6\.12\.cases 1 of 2 \(late, .*\): \[ 9.1\] Oops: int3: 0000\n$")
        self.assertIn("vm.6.12.cases.a.A.test_a", files["vm.6.12.cases.xml"])

    def test_a_vm_that_broke_twice_is_a_failure(self):
        status, output, files = self.run_suite(2, "cases")
        self.assertEqual((status, sorted(files)), (1, ["vm.6.12.cases.xml"]), output)
        self.assertIn("did not end after 0 tests", files["vm.6.12.cases.xml"])

    def test_parts_that_need_much_have_a_vm_each_with_one_cpu(self):
        status, output, files = self.run_suite(0, "cases", "languages")
        self.assertEqual((status, sorted(files)), (0, ["vm.6.12.cases.xml", "vm.6.12.languages.xml"]), output)
        for part in ("cases", "languages"):
            self.assertRegex(output, rf"6\.12\.{part}: {part} on .*, CPUs: 1\n")


class Choice(unittest.TestCase):
    def test_every_line_has_a_pattern_known_kernels_and_a_reason(self):
        for pattern, kernels, reason in choice.read("left_out.tsv"):
            self.assertTrue(pattern and reason)
            self.assertLessEqual(set(kernels.split(",")), {"-", *features.LINES})
        for part, pattern, kernels, why in choice.read("chosen.tsv"):
            self.assertIn(part, ("e2e", "cases", "languages"))
            self.assertTrue(pattern and why)
            self.assertLessEqual(set(kernels.split(",")), {"all", *features.LINES})

    def test_what_runs_on_one_kernel_runs_there(self):
        rows = [("names.*", "newest", "why")]
        self.assertEqual(choice.left_out("newest", rows), [])
        self.assertEqual(choice.left_out("6.1", rows), [("names.*", "why")])
        rows = [("e2e", "names.*", "newest", "why"), ("e2e", "kills.*", "all", "all of them"), ("cases", "*", "all", "others")]
        self.assertEqual(choice.chosen("e2e", "6.1", rows), [("kills.*", "all of them")])
        self.assertEqual(choice.chosen("e2e", "newest", rows), [("names.*", "why"), ("kills.*", "all of them")])

    def run_tests(self, chosen):
        """The runner on two tests, with that list: its output."""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="oomw-vm-test-"))
        for name, text in (("chosen.tsv", chosen),
                           ("test_two.py", "import unittest\nclass Two(unittest.TestCase):\n    def test_a(self): pass\n    test_b = test_a\n")):
            fileio.write(os.path.join(folder, name), text)
        return subprocess.run([sys.executable, "-B", RUNNER, "--folder", folder, "--choose", f"{folder}/chosen.tsv"],
                              text=True, capture_output=True)

    def test_only_what_is_chosen_runs_and_counts(self):
        done = self.run_tests("two.Two.test_a\tnow\n")
        self.assertNotIn("test_b", done.stdout)
        self.assertIn("e2e: 1 tests, 0 failed", done.stdout)

    def test_pattern_that_names_no_test_is_refused(self):
        done = self.run_tests("tow.*\tnot now\n")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no test is named tow", done.stderr)


class RunnerThatDies(unittest.TestCase):
    """inside.sh's second start of the runner, for three tests of which the middle one ends the interpreter."""

    TESTS = '''
import os, signal, unittest
class Three(unittest.TestCase):
    def test_a(self): self.fail("as ever")
    def test_b(self):
        with open(os.path.join(os.path.dirname(__file__), "starts"), "a") as f: f.write("x")
        if os.path.getsize(f.name) <= DEATHS: os.kill(os.getpid(), signal.SIGSEGV)
    def test_c(self): pass
'''

    def run_tests(self, deaths):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="oomw-vm-test-"))
        fileio.write(os.path.join(folder, "test_three.py"), self.TESTS.replace("DEATHS", str(deaths)))
        junit = os.path.join(folder, "e2e.xml")
        script = f'source <(sed -n "/^run_again_after_signal/,/^}}/p" {VM}/inside.sh); run_again_after_signal "$@"'
        done = subprocess.run(["bash", "-c", script, "bash", sys.executable, "-B", RUNNER, "--folder", folder,
                               "--junit", junit], text=True, capture_output=True)
        cases = {case.get("name").rpartition(".")[2]: len(case) == 0 for case in xml.parse(junit).iter("testcase")}
        return done, cases

    def test_one_death_runs_the_tests_without_a_result(self):
        done, cases = self.run_tests(deaths=1)
        self.assertEqual(cases, {"test_a": False, "test_b": True, "test_c": True}, done.stdout)
        self.assertEqual(done.stdout.count("FAIL  three.Three.test_a"), 1, done.stdout)
        self.assertEqual(done.returncode, 1)  # test_a's

    def test_second_death_is_a_failure(self):
        done, cases = self.run_tests(deaths=2)
        self.assertEqual(cases, {"test_a": False})
        self.assertEqual(done.returncode, 128 + 11)


if __name__ == "__main__":
    unittest.main()
