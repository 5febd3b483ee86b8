# SPDX-License-Identifier: Apache-2.0
"""What becomes of a fuzzer's finds: a script stands for the fuzzer, a repository of its own for the tree."""
import os
import subprocess
import tempfile
import unittest
from unittest import mock

import flakes
import fuzzing
import outcomes
import rerun

# Fails on an input that holds BAD; "finds" one where the file `finds` beside it is.
_FUZZER = r'''#!/bin/bash
for word; do
  case $word in -artifact_prefix=*) prefix=${word#*=} ;; -runs=0) replay=1 ;; -*) ;; *) inputs+=("$word") ;; esac
done
if [[ -n ${prefix-} ]]; then
  [[ -e ${0%/*}/finds ]] || exit 0
  printf BAD >"${prefix}crash-1"; echo "found it"; exit 77
fi
! grep -rq BAD "${inputs[@]}"
'''


class FuzzingTest(unittest.TestCase):
    def setUp(self):
        self.root = self.enterContext(tempfile.TemporaryDirectory(prefix="oomw-fuzzing-test-"))
        for name, value in ((flakes, "CACHE"), (flakes, "FINDS"), (fuzzing, "TREE")):
            self.enterContext(mock.patch.object(name, value, os.path.join(self.root, value.lower())))
        self.put("build/tests/a_fuzz", _FUZZER, 0o755)
        os.makedirs(f"{self.root}/results")

    def put(self, path, text, mode=0o644):
        path = os.path.join(self.root, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(path, mode)

    def fuzz(self):
        """[(outcome, name, class)] of one run."""
        with tempfile.TemporaryDirectory(dir=self.root) as results, mock.patch("builtins.print"):
            fuzzing.run_all(f"{self.root}/build", results, 1, 1, 1)
            return [(r.outcome, r.name, r.kind) for r in outcomes.read_folder(results)]


class Finds(FuzzingTest):
    def test_nothing_found(self):
        self.put("tree/tests/fuzz/corpus/a/seed", "good")
        self.assertEqual(self.fuzz(), [("pass", "fuzz.a_fuzz.corpus", ""), ("pass", "fuzz.a_fuzz", "")])

    def test_failing_input_of_the_corpus_is_a_failure_of_its_own_class(self):
        self.put("tree/tests/fuzz/corpus/a/seed", "BAD")
        self.assertEqual(self.fuzz(), [("fail", "fuzz.a_fuzz.corpus", "corpus")])

    def test_find_is_kept_and_replayed_by_the_next_runs_until_it_is_mended(self):
        self.put("build/tests/finds", "")
        name = "fuzz: " + fuzzing.find_name("a_fuzz", b"BAD")
        self.assertEqual(self.fuzz(), [("fail", name, "fuzz")])
        self.assertTrue(os.path.exists(fuzzing.finds_of("a_fuzz")[name.removeprefix("fuzz: ")]))
        self.assertEqual(self.fuzz(), [("fail", name, "fuzz")])
        self.put("build/tests/a_fuzz", "#!/bin/sh\nexit 0\n", 0o755)
        self.assertEqual(self.fuzz(), [("pass", "fuzz.a_fuzz", "")])
        self.assertEqual(fuzzing.finds_of("a_fuzz"), {})

    def test_no_fuzzers_are_a_failure(self):
        os.unlink(f"{self.root}/build/tests/a_fuzz")
        self.assertEqual(self.fuzz(), [("fail", "fuzz", "build")])

    def test_find_is_red_only_where_the_change_brought_it(self):
        find = outcomes.Result("fail", "fuzz: a_fuzz-0", "words", "fuzz")
        for brought, verdict in ((True, "red"), (False, "open")):
            self.assertEqual([v.verdict for v in rerun.judge([find], None, lambda _: brought)], [verdict])


class Base(FuzzingTest):
    """A repository with two commits; in the first the fuzzer passes or fails as `before` says. cmake is a script."""

    def commit(self, text):
        self.put("tree/fuzzer", text, 0o755)
        for command in (["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
            subprocess.run(["git", "-C", f"{self.root}/tree", *command], check=True)
        return flakes.git("rev-parse", "HEAD")

    def was_brought(self, before, is_known=True):
        self.put("tree/a", "")
        subprocess.run(["git", "init", "-q", f"{self.root}/tree"], check=True)
        self.put("bin/cmake", '#!/bin/sh\nmkdir -p build/asan/tests && cp fuzzer build/asan/tests/a_fuzz\n', 0o755)
        self.put("finds/a_fuzz-0", "BAD")
        with mock.patch.object(flakes, "HERE", f"{self.root}/tree"), \
                mock.patch.dict(os.environ, PATH=f"{self.root}/bin:{os.environ['PATH']}"):
            self.commit(before)
            if is_known:
                fuzzing.note_green()
            self.commit(_FUZZER + "# changed\n")
            found = fuzzing.was_brought("fuzz: a_fuzz-0")
            self.assertEqual(flakes.git("worktree", "list").count("\n"), 0, "a work tree is left")
        return found

    def test_input_that_passed_before_was_brought(self):
        self.assertTrue(self.was_brought("#!/bin/sh\nexit 0\n"))

    def test_input_that_failed_before_was_not(self):
        self.assertFalse(self.was_brought(_FUZZER))

    def test_nobody_can_say_without_a_green_run(self):
        self.assertFalse(self.was_brought("#!/bin/sh\nexit 0\n", is_known=False))


if __name__ == "__main__":
    unittest.main()
