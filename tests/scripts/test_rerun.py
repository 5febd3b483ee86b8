# SPDX-License-Identifier: Apache-2.0
"""Which failure is run again, and which verdict it gets: tests with a coin, late ones, a lost kill, crashes, run by the real
tests/e2e/run.py and the real ctest in a tree of their own."""
import os
import subprocess
import sys
import tempfile
import textwrap
import unittest

import outcomes
import rerun

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Each test fails as its list says, one entry a start, and passes from then on.
_LISTED = '''
import os, subprocess, unittest
from harness.wait import Crashed, LostKill, NotInTime
HERE = os.path.dirname(os.path.abspath(__file__))
class Listed(unittest.TestCase):
    def fail_as(self, *kinds):
        with open(os.path.join(HERE, self._testMethodName), "a") as f:
            f.write("x")
            start = f.tell() - 1
        if start < len(kinds) and kinds[start]:
            raise kinds[start]("words of " + self._testMethodName)
'''


class Tree(unittest.TestCase):
    """A source tree that holds nothing but what a test puts there, and the runner."""

    def setUp(self):
        self.tree = self.enterContext(tempfile.TemporaryDirectory(prefix="oomw-rerun-test-"))
        os.makedirs(f"{self.tree}/tests/e2e")
        os.makedirs(f"{self.tree}/results")
        for name in ("outcomes.py", "e2e/run.py", "e2e/harness"):
            os.symlink(os.path.join(TESTS, name), f"{self.tree}/tests/{name}")

    def put(self, path, text):
        path = os.path.join(self.tree, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        return path

    def starts(self, test):
        return os.path.getsize(f"{self.tree}/tests/living/{test}")

    def judge(self, of_the_rest=False):
        """{name: (verdict, class, "failed of runs")} of what the results have as failures."""
        failures = [r for r in outcomes.read_folder(f"{self.tree}/results") if r.outcome == "fail"]
        verdicts = rerun.judge(failures, lambda name: rerun.run_alone(name, self.tree, 60),
                               of_the_rest=[f.name for f in failures if of_the_rest])
        return {v.name: (v.verdict, v.kind, f"{v.failed} of {v.runs}") for v in verdicts}

    def run_listed(self, of_the_rest=False, are_judged=False, **tests):
        """Once, as a stage does; then what becomes of the failures, without what all their names begin with."""
        body = "".join(f"    def test_{name}(self): self.fail_as({', '.join(kinds)})\n" for name, kinds in tests.items())
        body += "".join(f"    test_{name}.judged = True\n" for name in tests if are_judged)
        self.put("tests/living/test_listed.py", _LISTED + body)
        subprocess.run([sys.executable, "-B", f"{self.tree}/tests/e2e/run.py", "--folder", f"{self.tree}/tests/living",
                        "--junit", f"{self.tree}/results/living.xml"], capture_output=True, check=False)
        return {name.removeprefix("living: listed.Listed.test_"): verdict for name, verdict in self.judge(of_the_rest).items()}


class Listed(Tree):
    def test_a_coin_that_falls_badly_twice_of_three_is_red(self):
        self.assertEqual(self.run_listed(coin=["ValueError", "None", "ValueError"]), {"coin": ("red", "other", "2 of 3")})

    def test_once_of_three_is_flaky(self):
        self.assertEqual(self.run_listed(coin=["AssertionError"]), {"coin": ("flaky", "other", "1 of 3")})

    def test_twice_in_a_row_is_not_tried_a_third_time(self):
        self.assertEqual(self.run_listed(broken=["AssertionError"] * 2), {"broken": ("red", "other", "2 of 2")})

    def test_of_the_rest_three_of_three_are_red_and_what_is_never_run_again(self):
        found = self.run_listed(True, coin=["ValueError", "ValueError"], broken=["ValueError"] * 3, lost=["LostKill"], crash=["Crashed"])
        self.assertEqual(found, {"coin": ("flaky", "other", "2 of 3"), "broken": ("red", "other", "3 of 3"),
                                 "lost": ("red", "lost", "1 of 1"), "crash": ("red", "crash", "1 of 1")})

    def test_late_once_or_twice_is_flaky_and_thrice_is_red(self):
        self.assertEqual(self.run_listed(once=["NotInTime"], twice=["NotInTime"] * 2, ever=["TimeoutError"] * 9),
                         {"once": ("flaky", "late", "1 of 2"), "twice": ("flaky", "late", "2 of 3"), "ever": ("red", "late", "3 of 3")})

    def test_what_judges_chance_is_red_only_where_so_many_misses_are_none(self):
        miss = ["AssertionError"]
        found = self.run_listed(True, True, once=miss, late=["NotInTime"] * 2, ever=miss * 9,
                                most=["ValueError", "None", "ValueError", "ValueError"], lost=["LostKill"], never=["None"])
        self.assertEqual(found, {"once": ("flaky", "judged", "1 of 3"), "late": ("flaky", "judged", "2 of 4"), "ever": ("red", "judged", "3 of 3"),
                                 "most": ("red", "judged", "3 of 4"), "lost": ("red", "lost", "1 of 1")})
        judged = {r.name.rpartition("_")[2]: r.is_judged for r in outcomes.read_folder(f"{self.tree}/results")}
        self.assertEqual(judged, dict.fromkeys([*found, "never"], True))

    def test_lost_kill_is_red_at_the_first_sight(self):
        self.assertEqual(self.run_listed(lost=["LostKill"]), {"lost": ("red", "lost", "1 of 1")})
        self.assertEqual(self.starts("test_lost"), 1)

    def test_crash_is_red_at_the_first_sight(self):
        self.assertEqual(self.run_listed(crash=["Crashed"]), {"crash": ("red", "crash", "1 of 1")})
        self.assertEqual(self.starts("test_crash"), 1)

    def test_kill_that_is_lost_by_a_run_alone_is_red(self):
        self.assertEqual(self.run_listed(late=["NotInTime", "LostKill"]), {"late": ("red", "lost", "2 of 2")})

    def test_six_failures_are_red_at_once(self):
        found = self.run_listed(**{f"t{n}": ["NotInTime"] for n in range(6)})
        self.assertEqual(set(found.values()), {("red", "late", "1 of 1")})
        self.assertEqual(self.starts("test_t0"), 1)

    def test_broken_fixture_of_a_class_is_a_failure(self):
        body = "    @classmethod\n    def setUpClass(cls): raise ValueError('no fixture')\n    def test_a(self): pass\n"
        self.put("tests/living/test_fixture.py", _LISTED + body)
        self.assertIn("setUpClass (test_fixture.Listed)", self.run_listed().popitem()[0])

    def test_name_of_a_test_is_run_and_none_that_only_holds_it(self):
        self.run_listed(once=["AssertionError"], once_more=["None"])
        self.assertEqual((self.starts("test_once"), self.starts("test_once_more")), (3, 1))

    def test_skip_is_no_pass(self):
        self.assertEqual(self.run_listed(luck=["AssertionError", "unittest.SkipTest", "unittest.SkipTest"]),
                         {"luck": ("red", "other", "2 of 2")})


class Ctest(Tree):
    def run_ctest(self, **tests):
        """Tests of shell lines; $0 is a file of this test's own."""
        rows = [f'add_test([[u.{name}]] "/bin/sh" "-c" [==[{line}]==] "{self.tree}/{name}")\n' for name, line in tests.items()]
        rows.append(f"set_tests_properties({' '.join(f'[[u.{name}]]' for name in tests)} PROPERTIES LABELS unit TIMEOUT 1)\n")
        self.put("build/ci/CTestTestfile.cmake", "".join(rows))
        with open(f"{self.tree}/results/ci.unit.ctest", "w", encoding="utf-8") as log:
            subprocess.run(["ctest", "--test-dir", f"{self.tree}/build/ci", "-L", "^(unit)$", "--output-on-failure", "--output-junit",
                            f"{self.tree}/results/ci.unit.xml"], stdout=log, stderr=log, check=False)
        return {name.removeprefix("ci: u."): verdict for name, verdict in self.judge().items()}

    def test_signals_of_all_kinds_are_crashes(self):
        found = self.run_ctest(segv="kill -SEGV $$", abort="kill -ABRT $$", bus="kill -BUS $$", sys="kill -SYS $$")
        self.assertEqual(found, {name: ("red", "crash", "1 of 1") for name in ("segv", "abort", "bus", "sys")})

    def test_name_as_gtest_makes_it_of_a_parameter(self):
        name = 'System/A.b/of_0  # GetParam() = "3.9"'
        found = self.run_ctest(**{name: "kill -SEGV $$", "C": '[ -e "$0" ] || { touch "$0"; exit 3; }', name + "D": 'exit 3'})
        self.assertEqual(found, {name: ("red", "crash", "1 of 1"), "C": ("flaky", "other", "1 of 3"), name + "D": ("red", "other", "2 of 2")})

    def test_timeout_is_late_and_an_exit_status_is_not(self):
        found = self.run_ctest(slow='[ -e "$0" ] || { touch "$0"; sleep 5; }', wrong='[ -e "$0" ] || { touch "$0"; exit 3; }')
        self.assertEqual(found, {"slow": ("flaky", "late", "1 of 2"), "wrong": ("flaky", "other", "1 of 3")})

    def test_report_of_a_sanitizer_is_red_at_the_first_sight(self):
        found = self.run_ctest(race="echo 'WARNING: ThreadSanitizer: data race'; exit 66",
                               heap="echo '==7==ERROR: AddressSanitizer: heap-use-after-free'; exit 1",
                               shift="echo 'a.cc:3:5: runtime error: shift exponent 64 is too large'; exit 1")
        self.assertEqual(found, {name: ("red", "sanitizer", "1 of 1") for name in ("race", "heap", "shift")})

    def test_lost_kill_of_a_gtest_is_red_at_the_first_sight(self):
        self.assertEqual(self.run_ctest(bpf='echo "a.cc:7: Failure"; echo "lost kill: none"; exit 1'), {"bpf": ("red", "lost", "1 of 1")})

    def test_missing_program_is_a_failure(self):
        self.put("build/ci/CTestTestfile.cmake", 'add_test(u.gone "/nonexistent")\nset_tests_properties(u.gone PROPERTIES LABELS unit)\n')
        subprocess.run(["ctest", "--test-dir", f"{self.tree}/build/ci", "--output-junit", f"{self.tree}/results/ci.unit.xml"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        self.assertEqual([r.outcome for r in outcomes.read_folder(f"{self.tree}/results")], ["fail"])

    def test_name_with_the_signs_of_a_regular_expression(self):
        self.assertEqual(rerun.escaped("u.Ways/A.b(1)+[x]"), r"u\.Ways/A\.b\(1\)\+\[x\]")


class Reasons(Tree):
    def test_failed_assertion_is_shown_and_not_the_tear_down(self):
        output = textwrap.dedent("""\
            [ RUN      ] A.b
            /src/a_test.cc:12: Failure
            Expected equality of these values:
              1
              2

            [  FAILED  ] A.b (3 ms)
            [----------] Global test environment tear-down
            1 FAILED TEST
            """)
        self.put("results/ci.unit.xml", "<testsuite><testcase name='A.b' classname='A.b' status='fail'><failure message=''/>"
                 f"<system-out>{output}</system-out></testcase></testsuite>")
        result, = outcomes.read_folder(f"{self.tree}/results")
        self.assertEqual(result.reason, "/src/a_test.cc:12: Failure | Expected equality of these values: | 1 | 2")

    def test_plain_line_with_and_without_a_class(self):
        self.put("results/plain.tsv", "fail\tbuild.ci.x\tno\tbuild\nfail\te2e\tno\npass\tfuzz.a\t\t\n")
        results = outcomes.read_folder(self.tree)  # also in a folder of it
        self.assertEqual([(r.name, r.kind) for r in results], [("build.ci.x", "build"), ("e2e", "other"), ("fuzz.a", "")])
        self.assertEqual(outcomes.count(results), "1 passed, 2 failed, 0 skipped")


class Commands(unittest.TestCase):
    def last_of(self, full):
        return rerun.command_of(full, "/r", "/t")[-1]

    def test_every_stage_has_one(self):
        self.assertEqual(self.last_of("e2e: kills.Kills.test_a"), "kills.Kills.test_a")
        self.assertEqual(self.last_of("bpf: A.b"), "--gtest_output=xml:/r/bpf.xml")
        self.assertEqual(self.last_of("vm: vm.6.1.e2e.kills.Kills.test_a"), "kills.Kills.test_a")
        self.assertEqual(self.last_of("vm: vm.newest.bpf.Ways/A.b/exit"), "Ways/A.b/exit")
        self.assertEqual(self.last_of("vm: vm.6.12.e2e"), "/r")
        self.assertEqual(self.last_of("vm: vm.6.12.doctor"), "/r")
        self.assertEqual(self.last_of("vm: vm.6.12.cases"), "cases")
        self.assertEqual(rerun.command_of("vm: vm.6.12.languages.a.A.test_a", "/r")[-3:], ["--part", "languages", "a.A.test_a"])
        self.assertEqual(self.last_of("vm.features"), "/r")
        self.assertEqual(self.last_of("systemd-use: kills.Kills.test_a"), "kills.Kills.test_a")
        self.assertEqual(self.last_of("systemd.use"), "/r")
        self.assertIsNone(rerun.command_of("build.ci.unit_tests", "/r"))

    def test_suite_of_a_vm_that_ended_this_time_passes_by_its_tests(self):
        passed, failed = outcomes.Result("pass", "vm: vm.6.1.e2e.a"), outcomes.Result("fail", "vm: vm.6.1.e2e.b", "why", "lost")
        of = lambda *results: [(r.outcome, r.kind) for r in rerun._whole("vm: vm.6.1.e2e", list(results))]
        self.assertEqual(of(passed), [("pass", "")])
        self.assertEqual(of(passed, failed), [("fail", "lost")])
        self.assertEqual(of(), [])
        self.assertEqual(rerun.scope_of("vm: vm.6.1.bpf"), "vm: vm.6.1.")
        self.assertEqual(rerun.scope_of("vm: vm.6.12.cases"), "vm: vm.6.12.cases.")
        self.assertEqual(rerun.scope_of("systemd.use"), "systemd-use: ")


if __name__ == "__main__":
    unittest.main()
