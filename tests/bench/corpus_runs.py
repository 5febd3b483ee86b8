# SPDX-License-Identifier: Apache-2.0
"""One run of the corpus: its cgroups, its programs, its outcome, and the daemon's verdict."""
import contextlib
import dataclasses
import os
import shutil
import subprocess
import time

from bench_support import MIB, first_incident, settled_incident, tools
from corpus_collector import Collector
from corpus_names import score, words_of
from corpus_programs import answer_argv, is_answer_program
from own_files import with_own_files

from harness.cgroup import MemoryCgroup
from harness.wait import NotInTime, eventually
from harness.workload import Workload

# Half an hour in a minute. Of the daemon's times these are divided by it; min_interval_seconds is a third of a second
# then, and 1 is the least it takes. What an incident is judged by (10 s for a spike) is not: kills take their own time.
FACTOR = 30
CONFIG = f"""
[trend]
min_interval_seconds = 1
max_interval_seconds = {600 / FACTOR:g}
suspect_after_seconds = {300 / FACTOR:g}
[sampler]
slow_seconds = {10 / FACTOR:.2f}
fast_seconds = 0.05
[triggers]
cooldown_seconds = {30 / FACTOR:g}
[incidents]
keep_count = 1000
"""
SUSPECTED = "oomwitness_container_suspected_leak"
INCIDENT_DEADLINE_S = 60.0
TMPFS_MIB = 512
# A healthy run goes on until it was judged at all: readings wait for a busy machine.
JUDGED_DEADLINE_S = 180.0
FORCE_S = 20.0


@dataclasses.dataclass
class Outcome:
    """What one run came to. verdict None: no incident, or one without a verdict; problem: why the run does not count."""

    run: object
    seconds: float = 0.0
    incident: dict | None = None
    suspected: bool = False
    judged: bool = False  # a healthy one: the metric was there, so it could have been 1
    problem: str = ""

    def _of_verdict(self, key):
        return ((self.incident or {}).get("verdict") or {}).get(key)

    @property
    def verdict(self):
        return self._of_verdict("cause")

    @property
    def confidence(self):
        return self._of_verdict("confidence")

    @property
    def why(self):
        """The reasons given, runners-up last."""
        also = [f"also {a['cause']} {a['confidence']:.2f}" for a in self._of_verdict("also") or []]
        return [*(self._of_verdict("why") or []), *also]

    @property
    def is_trend_known(self):
        """A trend can be called a leak while the program lives: of a Go heap alone."""
        return any(command.program.startswith(("go", "collector")) for command in self.run.commands)

    @property
    def called(self):
        """What the matrix counts."""
        if self.problem:
            return "(did not run)"
        if self.run.is_healthy:
            return "leak" if self.suspected or self.verdict == "leak" else "healthy"
        return self.verdict or "(none)"

    @property
    def named(self):
        """Whether the answer names who did it; "" where nothing says who did."""
        words = words_of(self.run)
        return score(self.incident.get("answer"), words) if self.incident and words is not None else ""

    @property
    def is_right(self):
        return self.called in self.run.expected


def argv_of(command, folders, collector):
    if collector:
        return collector.argv()
    arguments = [a.format(**folders) for a in command.arguments]
    if is_answer_program(command.program):
        return answer_argv(command.program, arguments)
    if command.program.startswith("go"):
        return [tools.go_program(command.program[2:], "strip", "go-patterns"), *arguments]
    program = {"cc": tools.patterns, "filehog": tools.filehog}[command.program]
    return [program(), *arguments]


class Scene(contextlib.ExitStack):
    """The cgroups, mounts and programs of one run, gone when closed."""

    def __init__(self, run, scratch, prefix):
        super().__init__()
        self.run, self.scratch, self.prefix = run, scratch, f"{prefix}{run.name}"
        self.works, self.boxes = [], []

    def cgroup(self, name, limit_mib=None, parent=None):
        return self.enter_context(MemoryCgroup(name, limit_mib and limit_mib * MIB, parent))

    def mount(self, kind):
        folder = os.path.join(self.scratch, f"{self.run.name}-{kind}")
        os.mkdir(folder)
        subprocess.run(["mount", "-t", kind, *(("-o", f"size={TMPFS_MIB}m") if kind == "tmpfs" else ()), kind, folder],
                       check=True)
        self.callback(subprocess.run, ["umount", folder], check=True)
        return folder

    def folders(self):
        text = " ".join(a for c in self.run.commands for a in c.arguments)
        return {kind: self.mount(kind) for kind in ("tmpfs", "ramfs") if "{" + kind + "}" in text}

    def places(self):
        """A cgroup for each command."""
        if self.run.place == "container":
            return [self.cgroup(self.prefix, self.run.limit_mib)] * len(self.run.commands)
        pod = self.cgroup(self.prefix, self.run.limit_mib)
        return [self.cgroup(f"{self.prefix}-{n}", parent=pod) for n in range(len(self.run.commands))]

    def start(self):
        folders, places = self.folders(), self.places()
        self.boxes = list(dict.fromkeys(places))
        for number, (command, box) in enumerate(zip(self.run.commands, places)):
            collector = None
            if command.program == "collector":
                collector = Collector(command.arguments, self.scratch, f"{self.run.name}-{number}")
                self.callback(collector.close)
            work = self.enter_context(Workload(self.argv(argv_of(command, folders, collector), number), box,
                                               oom_score_adj=command.oom_score_adj, env=command.environment))
            self.works.append(work)
            if collector:
                collector.attach(work)

    def argv(self, argv, _number):
        return argv

    def kills(self):
        return sum(box.kernel_kills() for box in self.boxes)

    def paths(self):
        return {box.path for box in self.boxes}

    def names(self):
        return {box.name for box in self.boxes}

    def output(self):
        return " | ".join(work.text()[-300:].strip() for work in self.works)


class OwnFilesScene(Scene):
    """Its programs' own pages are charged to their cgroups: see own_files.py."""

    def argv(self, argv, number):
        folder = os.path.join(self.scratch, f"{self.run.name}-{number}-files")
        self.callback(shutil.rmtree, folder, ignore_errors=True)
        return with_own_files(argv, folder)


class Runner:
    """Runs against one daemon; run() is called by several threads."""

    def __init__(self, witness, scratch, prefix, scene=Scene):
        self.witness, self.scratch, self.prefix, self.scene = witness, scratch, prefix, scene

    def run(self, run):
        outcome, start = Outcome(run), time.monotonic()
        try:
            with self.scene(run, self.scratch, self.prefix) as scene:
                scene.start()
                (self._watch_healthy if run.is_healthy else self._watch_kill)(scene, outcome, start)
        except Exception as e:  # the other runs are worth having
            outcome.problem = outcome.problem or f"{type(e).__name__}: {e}"
        outcome.seconds = outcome.seconds or time.monotonic() - start
        return outcome

    def _watch_kill(self, scene, outcome, start):
        try:
            eventually(lambda: scene.kills() > 0, "a kill", scene.run.seconds, 0.1)
        except NotInTime:
            outcome.problem = f"nobody was killed in {scene.run.seconds:.0f} s: {scene.output()}"
            return
        outcome.seconds = time.monotonic() - start
        if not eventually_or_none(lambda: first_incident(self.witness, scene.paths()), INCIDENT_DEADLINE_S):
            outcome.problem = "the kill has no incident"
            return
        outcome.incident = eventually(lambda: settled_incident(self.witness, scene.paths()), "an incident that is whole",
                                      INCIDENT_DEADLINE_S, 0.5)

    def _watch_healthy(self, scene, outcome, start):
        """For as long as it is to last, and until it was judged at all."""
        outcome.judged = not outcome.is_trend_known
        is_over = lambda: time.monotonic() - start > (scene.run.seconds if outcome.judged else JUDGED_DEADLINE_S)
        while not (is_over() or scene.kills() or outcome.suspected):
            for labels, value in self.witness.scrape().values(SUSPECTED):
                if any(name in labels["k8s_container_name"] for name in scene.names()):
                    outcome.judged = True
                    outcome.suspected |= value == 1
            time.sleep(0.5)
        outcome.seconds = time.monotonic() - start
        if scene.kills() and not outcome.suspected:
            outcome.problem = "was killed: the limit is wrong"
        elif not outcome.suspected and not all(work.is_alive() for work in scene.works):
            outcome.problem = f"ended by itself: {scene.output()}"
        elif not outcome.judged:
            outcome.problem = "was never judged"
        elif outcome.suspected or not outcome.is_trend_known:
            outcome.incident = self._force_incident(scene)

    def _force_incident(self, scene):
        """Its limit is taken away: what was read of a run called a leak comes with an incident only, and one without a Go
        heap is judged by its incident. None where nothing but page cache is in the way."""
        box = scene.boxes[0]
        box.set_limit(box.usage() + MIB)
        killed = eventually_or_none(lambda: scene.kills() > 0, FORCE_S)
        return eventually_or_none(lambda: settled_incident(self.witness, scene.paths()), INCIDENT_DEADLINE_S) if killed else None


def eventually_or_none(probe, deadline_s):
    try:
        return eventually(probe, "", deadline_s, 0.1)
    except NotInTime:
        return None
