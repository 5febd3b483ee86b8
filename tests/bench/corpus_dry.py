# SPDX-License-Identifier: Apache-2.0
"""Runs of the corpus without the tracer: does each end as its label needs it to? No verdict is made, so whoever writes
rows that are held back can fit sizes to limits and know no more than that about how they will be judged."""
import dataclasses
import time

from bench_support import MIB
from corpus_runs import Scene

# A killed run must last so long first: less is not enough to distinguish causes.
SEEN_S = 15.0
TIMELINE_STEP_S = 5.0
LOOK_S = 0.1


@dataclasses.dataclass
class DryOutcome:
    """What one run did. shares: of the limit, TIMELINE_STEP_S apart from the start on, and the last before the end."""

    run: object
    seconds: float = 0.0
    killed: bool = False
    problem: str = ""
    shares: list = dataclasses.field(default_factory=list)

    @property
    def is_as_labelled(self):
        if self.problem:
            return False
        if self.run.is_healthy:
            return not self.killed
        return self.killed and self.seconds >= SEEN_S

    @property
    def line(self):
        end = self.problem or f"{'killed' if self.killed else 'alive'} after {self.seconds:.0f} s"
        timeline = " ".join(f"{100 * share:.0f}" for share in self.shares)
        mark = "fits " if self.is_as_labelled else "WRONG"
        return f"{mark}  {self.run.name}: {' or '.join(self.run.expected)}, {end}; % of the limit: {timeline}"


class DryRunner:
    """run() is called by several threads."""

    def __init__(self, scratch, prefix, scene=Scene):
        self.scratch, self.prefix, self.scene = scratch, prefix, scene

    def run(self, run):
        outcome, start = DryOutcome(run), time.monotonic()
        try:
            with self.scene(run, self.scratch, self.prefix) as scene:
                scene.start()
                self._watch(scene, outcome, start)
        except Exception as e:  # the other runs are worth having
            outcome.problem = f"{type(e).__name__}: {e}"
        return outcome

    def _watch(self, scene, outcome, start):
        last = 0.0
        while not outcome.killed and outcome.seconds < scene.run.seconds:
            share = sum(box.usage() for box in scene.boxes) / (scene.run.limit_mib * MIB)
            if outcome.seconds >= len(outcome.shares) * TIMELINE_STEP_S:
                outcome.shares.append(share)
            outcome.killed = scene.kills() > 0
            last = last if outcome.killed else share
            time.sleep(LOOK_S)
            outcome.seconds = time.monotonic() - start
        outcome.shares.append(last)
        if not outcome.killed and not all(work.is_alive() for work in scene.works):
            outcome.problem = f"ended by itself: {scene.output()}"
