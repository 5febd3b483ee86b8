# SPDX-License-Identifier: Apache-2.0
"""tests/corpus/labels.tsv: the labelled runs."""
import dataclasses
import os

from bench_support import HERE, fileio

LABELS = os.path.join(os.path.dirname(HERE), "corpus/labels.tsv")
ANSWERS = os.path.join(os.path.dirname(HERE), "corpus/answers.tsv")
CAUSES = ("leak", "spike", "undersized", "off_heap", "page_cache_or_tmpfs", "sibling", "ancestor_limit")
# Known only of programs in certain languages: sets that are held back need not have them.
LANGUAGE_CAUSES = ("allocator_retention", "does_not_fit", "direct_buffers", "thread_stacks", "metaspace")
HEALTHY = "healthy"
# held_back rows are run once; whoever reads their results makes them `seen`, and others are written in their place.
TUNE, SEEN, HELD_BACK = SPLITS = ("tune", "seen", "held_back")
# The rows that may be read while detector and verdicts change, and all rows.
OF_OPTION = {TUNE: (TUNE, SEEN), SEEN: (SEEN,), HELD_BACK: (HELD_BACK,), "all": SPLITS}


@dataclasses.dataclass(frozen=True)
class Command:
    """One program of a run."""

    program: str
    arguments: tuple
    environment: dict
    oom_score_adj: int | None


@dataclasses.dataclass(frozen=True)
class Run:
    """One line. A killed run has `seconds` until its kill at the latest, a healthy one lasts that long."""

    name: str
    split: str
    expected: tuple  # more than one where two causes are honestly right: `why` has the reason
    place: str  # container, or pod: the limit is the pod's, each command has a container
    limit_mib: int
    seconds: float
    commands: tuple
    why: str

    @property
    def is_healthy(self):
        return self.expected == (HEALTHY,)


def parse_command(text):
    words = text.split()
    environment = {}
    while "=" in words[0]:
        key, _, value = words.pop(0).partition("=")
        environment[key] = value
    adjustment = environment.pop("OOM_SCORE_ADJ", None)
    return Command(words[0], tuple(words[1:]), environment, adjustment and int(adjustment))


def parse_run(line, number):
    fields = line.rstrip("\n").split("\t")
    if len(fields) != 8:
        raise ValueError(f"{LABELS}:{number}: {len(fields)} fields, not 8")
    name, split, expected, place, limit_mib, seconds, commands, why = fields
    run = Run(name, split, tuple(expected.split(",")), place, int(limit_mib), float(seconds),
              tuple(map(parse_command, commands.split(" & "))), why)
    if not (set(run.expected) <= {*CAUSES, *LANGUAGE_CAUSES, HEALTHY} and split in SPLITS and place in ("container", "pod")):
        raise ValueError(f"{LABELS}:{number}: a split, place or cause that there is not")
    return run


def read_runs(split="all", substrings=()):
    """Those of an OF_OPTION whose name holds one of the substrings, in the file's order."""
    with open(LABELS, encoding="utf-8") as f:
        runs = [parse_run(line, number) for number, line in enumerate(f, 1) if not line.startswith("#")]
    names = [run.name for run in runs]
    if len(set(names)) != len(names):
        raise ValueError(f"{LABELS}: a name twice")
    return [run for run in runs if run.split in OF_OPTION[split] and
            (not substrings or any(s in run.name for s in substrings))]


def read_answers():
    """{name: (words of a right answer, patterns of a wrong one)}"""
    rows = [line.rstrip("\n").split("\t") for line in fileio.lines(ANSWERS) if not line.startswith("#")]
    return {name: (tuple(right.split()) if right != "-" else (), tuple(wrong.split())) for name, right, wrong in rows}
