# SPDX-License-Identifier: Apache-2.0
"""tests/e2e/run.py: classes beside each other, and which tests are the gate's."""
import os
import subprocess
import sys
import tempfile
import unittest

from harness import fileio
import outcomes

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

_TIMED = '''
import os, time, unittest
class Timed(unittest.TestCase):
    def span(self):
        began = time.monotonic()
        time.sleep(0.4)
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "spans"), "a") as f:
            f.write(f"{type(self).__name__} {self._testMethodName} {os.getpid()} {began} {time.monotonic()}\\n")
class One(Timed):
    def test_a(self): self.span()
    def test_b(self): self.span()
class Two(Timed):
    def test_a(self): self.span()
class Quiet(Timed):
    alone = True
    def test_a(self): self.span()
class Dies(unittest.TestCase):
    def test_a(self): pass
    def test_b(self): os.abort()
class Fails(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise ValueError("no fixture")
    def test_a(self): pass
'''


class Runner(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join(self.enterContext(tempfile.TemporaryDirectory(prefix="oomw-run-test-")), "timed")
        os.mkdir(self.folder)
        fileio.write(os.path.join(self.folder, "test_timed.py"), _TIMED)

    def run_it(self, *options):
        """{name: outcome}"""
        junit = os.path.join(self.folder, "timed.xml")
        self.done = subprocess.run([sys.executable, "-B", f"{TESTS}/e2e/run.py", "--folder", self.folder, "--junit", junit, *options],
                                   capture_output=True, text=True, check=False)
        return {r.name.removeprefix("timed: timed."): r.kind or r.outcome for r in outcomes.read_folder(self.folder)}

    def spans(self):
        lines = [line.split() for line in fileio.lines(os.path.join(self.folder, "spans"))]
        return {f"{line[0]}.{line[1][-1]}": (int(line[2]), float(line[3]), float(line[4])) for line in lines}

    def test_lanes_have_the_results_of_one_after_another(self):
        results = self.run_it("--lanes", "3")
        # A class that dies half-way has its first results, and is a failure of its own.
        self.assertEqual(results, {"One.test_a": "pass", "One.test_b": "pass", "Two.test_a": "pass", "Quiet.test_a": "pass",
                                   "timed: setUpClass (test_timed.Fails)": "other", "Dies.test_a": "pass", "Dies": "crash"})
        self.assertEqual(self.done.returncode, 1)
        self.assertIn("no fixture", self.done.stdout)

    def test_a_class_stays_in_order_and_one_that_is_alone_overlaps_nothing(self):
        self.run_it("--lanes", "3")
        spans = self.spans()
        self.assertLess(spans["One.a"][2], spans["One.b"][1])
        self.assertNotEqual(spans["One.a"][0], spans["Two.a"][0])
        self.assertLess(spans["Two.a"][1], spans["One.b"][1])  # it did not wait for the other class
        for name in ("One.a", "One.b", "Two.a"):
            self.assertLess(spans[name][2], spans["Quiet.a"][1])

    def test_one_lane_is_one_process(self):
        self.run_it("-k", "One", "-k", "Quiet")
        self.assertEqual(len({span[0] for span in self.spans().values()}), 1)


class Gate(unittest.TestCase):
    def names(self, *options):
        """Of e2e's tests."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", "-c", _LIST, TESTS, folder, *options], check=True, capture_output=True)
            return fileio.read(os.path.join(folder, "names")).split()

    def test_gate_and_rest_are_all_tests_once(self):
        for folder in ("e2e", "hostile"):
            gate, rest, every = (self.names(folder, part) for part in ("gate", "rest", "all"))
            self.assertTrue(gate and rest)
            self.assertEqual(sorted(gate + rest), sorted(every))


# Loads a folder as run.py does, and runs nothing.
_LIST = '''
import os, sys, unittest
tests, out, folder, part = sys.argv[1:5]
sys.argv = ["run.py", "--folder", os.path.join(tests, folder)] + (["--" + part] if part != "all" else [])
sys.path.insert(0, os.path.join(tests, "e2e"))
import run
def only_names(suite, result):
    with open(os.path.join(out, "names"), "w") as f:
        f.writelines(run.name_of(test) + "\\n" for test in run.tests_in(suite))
unittest.TestSuite.run = only_names
run.main()
'''


if __name__ == "__main__":
    unittest.main()
