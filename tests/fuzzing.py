#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the fuzzers of a build: fuzzing.py --build BUILD --results DIR [--seconds N] [--jobs N] [--seed N]; or
notes that the whole run of this commit was green: fuzzing.py --note-green

First every input that is known is replayed: the corpus, whose failures are failures, and the finds of earlier runs. Then each
fuzzer makes its own inputs for some seconds (0: none), from the seed of the commit. What it finds is kept in $OOMW_CACHE/fuzz-finds under
the name of its row in the ledger (flakes.py), and rejects a change only if that brought it (was_brought).
"""
import argparse
import concurrent.futures
import glob
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

import flakes

TREE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAX_GREEN = 100  # commits that are remembered
BOUNDS = ["-timeout=5", "-rss_limit_mb=1024", "-max_len=65536"]


def find_name(fuzzer, data):
    return f"{fuzzer}-{hashlib.sha1(data).hexdigest()[:12]}"


def finds_of(fuzzer):
    """{name: path}: open finds of the ledger and those of this machine's earlier runs."""
    return {os.path.basename(path): path for folder in (flakes.cached_finds(), flakes.FINDS)
            for path in sorted(glob.glob(os.path.join(folder, fuzzer + "-*")))}


class Fuzzer:
    """One program, and what it leaves: lines of plain.tsv."""

    def __init__(self, path, seconds, seed, scratch):
        self.path, self.seconds, self.seed = path, seconds, seed
        self.name = os.path.basename(path)
        self.scratch = os.path.join(scratch, self.name)
        self.corpus = os.path.join(TREE, "tests/fuzz/corpus", self.name.removesuffix("_fuzz"))
        self.lines, self.output = [], ""

    def run(self):
        os.makedirs(os.path.join(self.scratch, "corpus"))
        if os.path.isdir(self.corpus):
            is_fine = self._start("-runs=0", self.corpus)
            self._result(f"fuzz.{self.name}.corpus", is_fine, "an input of its corpus crashes, hangs or outgrows its bounds", "corpus")
            if not is_fine:
                return self
        self._replay_finds()
        if self.seconds:
            self._find()
        else:
            self._result(f"fuzz.{self.name}.corpus", True)
        return self

    def _replay_finds(self):
        for name, path in finds_of(self.name).items():
            is_open = not self._start(path)
            if is_open:
                self._result(f"fuzz: {name}", False, f"an earlier run's find: {path}", "fuzz")
            elif os.path.dirname(path) == flakes.cached_finds():
                os.unlink(path)  # mended, and never in the ledger

    def _find(self):
        artefacts = os.path.join(self.scratch, "artefact-")
        inputs = [os.path.join(self.scratch, "corpus")] + [self.corpus] * os.path.isdir(self.corpus)
        if self._start(f"-max_total_time={self.seconds}", f"-seed={self.seed}", f"-artifact_prefix={artefacts}", *inputs):
            self._result(f"fuzz.{self.name}", True)
            return
        found = glob.glob(artefacts + "*")
        if not found:
            self._result(f"fuzz.{self.name}", False, "ended without an input that shows why", "crash")
            return
        with open(found[0], "rb") as f:
            name = find_name(self.name, f.read())
        if name in finds_of(self.name):
            return  # replayed above
        os.makedirs(flakes.cached_finds(), exist_ok=True)
        kept = shutil.copy(found[0], os.path.join(flakes.cached_finds(), name))
        self._result(f"fuzz: {name}", False, f"crashed, hung or outgrew its bounds (seed {self.seed}); the input: {kept}", "fuzz")

    def _start(self, *arguments):
        done = subprocess.run([self.path, *BOUNDS, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, cwd=self.scratch, text=True, errors="replace", check=False)
        lines = done.stdout.splitlines()
        self.output += "".join(f"{self.name}: {line}\n" for line in (lines[-1:] if done.returncode == 0 else lines[-40:]))
        return done.returncode == 0

    def _result(self, name, is_fine, reason="", kind=""):
        self.lines.append("\t".join(("pass" if is_fine else "fail", name, reason, kind)) + "\n")


def run_all(build, results, seconds, jobs, seed):
    paths = sorted(path for path in glob.glob(os.path.join(build, "tests/*_fuzz")) if os.access(path, os.X_OK))
    with tempfile.TemporaryDirectory(prefix="oomw-fuzz-") as scratch, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        lines = []
        for fuzzer in pool.map(lambda path: Fuzzer(path, seconds, seed, scratch).run(), paths):
            print(fuzzer.output, end="", flush=True)
            lines += fuzzer.lines
    with open(os.path.join(results, "plain.tsv"), "a", encoding="utf-8") as f:
        f.writelines(lines or ["fail\tfuzz\tno fuzzers were built\tbuild\n"])


# --- who brought it


def known_green():
    """Commits, the newest last."""
    try:
        with open(os.path.join(flakes.CACHE, "green.txt"), encoding="ascii") as f:
            return f.read().split()
    except OSError:
        return []


def green_base():
    """The newest commit below this one whose whole run was green here; None if there is none."""
    head = flakes.git("rev-parse", "HEAD")
    return next((commit for commit in reversed(known_green()) if commit != head and flakes.git("merge-base", commit, "HEAD") == commit), None)


def note_green():
    """The whole run of this commit was green: an input that passes there and fails later was brought by what came between."""
    os.makedirs(flakes.CACHE, exist_ok=True)
    commits = (known_green() + [flakes.git("rev-parse", "HEAD")])[-MAX_GREEN:]
    with open(os.path.join(flakes.CACHE, "green.txt"), "w", encoding="ascii") as f:
        f.writelines(commit + "\n" for commit in commits)


def was_brought(name):
    """Whether the input of the find "fuzz: FUZZER-HASH" passes in the last green commit, by building its fuzzer there. With no
    such commit nobody can say: no."""
    find = name.removeprefix("fuzz: ")
    fuzzer, base = find.rpartition("-")[0], green_base()
    path = finds_of(fuzzer).get(find)
    if base is None or path is None:
        return False
    tree = os.path.join(flakes.CACHE, "base")
    try:
        subprocess.run(["git", "-C", TREE, "worktree", "add", "--force", "--detach", tree, base], check=True, capture_output=True)
        environment = dict(os.environ, CCACHE_BASEDIR=tree)
        for command in (["cmake", "-S", tree, "--preset", "asan"], ["cmake", "--build", os.path.join(tree, "build/asan"), "--target", fuzzer]):
            if subprocess.run(command, cwd=tree, env=environment, capture_output=True, check=False).returncode:
                return True  # not even the fuzzer was there
        done = subprocess.run([os.path.join(tree, "build/asan/tests", fuzzer), *BOUNDS, path], cwd=tree, stdin=subprocess.DEVNULL,
                              capture_output=True, check=False)
        return done.returncode == 0
    finally:
        subprocess.run(["git", "-C", TREE, "worktree", "remove", "--force", tree], capture_output=True, check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build")
    parser.add_argument("--results")
    parser.add_argument("--note-green", action="store_true")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    if options.note_green:
        note_green()
        return
    if not (options.build and options.results):
        parser.error("--build and --results, or --note-green")
    seed = int(flakes.git("rev-parse", "HEAD")[:7] or "1", 16) if options.seed is None else options.seed
    run_all(os.path.abspath(options.build), options.results, options.seconds, options.jobs, seed)


if __name__ == "__main__":
    sys.exit(main())
