# SPDX-License-Identifier: Apache-2.0
"""One kill of leaky-go of a given kind, and what its incident holds of the heap."""
import dataclasses
import os
import shutil
import unittest

from bench_support import MIB, fileio, tools

from harness.wait import NotInTime, eventually

GO_VERSIONS = ("1.19", "1.26", "1.27")
BUILDS = {"plain": "plain", "strip": "-s -w", "pie-strip": "PIE -s -w"}
RATES = (1, 50, 500, 0)
LIMITS_MIB = (128, 256, 1024)
FEW, MANY, VERY_MANY = 1, 20000, 65000
BAR = 0.85

# Every incident is kept, and no cgroup is too soon or too often asked: the run itself is the load.
CONFIG = """[triggers]
cooldown_seconds = 0
budget = 1000
[incidents]
keep_count = 100000
repeats_per_minute = 0
keep_bytes = 17179869184
"""

# Left to leak at the rate once the fast start is over, in MiB.
_AT_RATE_MIB = {1: 20, 50: 60, 500: 300}


@dataclasses.dataclass(frozen=True)
class Cell:
    go: str
    build: str
    rate: int
    limit_mib: int
    stacks: int

    def __str__(self):
        return (f"Go {self.go} {BUILDS[self.build]}, {rate_text(self.rate)}, {self.limit_mib} MiB, "
                f"{stacks_text(self.stacks)}")

    def flags(self, chunk_kib):
        """Many stacks need every allocation sampled: at 512 KiB a sample most would stay unseen."""
        flags = ["-rate", str(self.rate), "-chunk", str(chunk_kib << 10)]
        if self.stacks > 1:
            flags += ["-stacks", str(self.stacks), "-profile-rate", "1"]
        if self.rate:
            # Buckets and the runtime's own tables take up to a tenth, more with many stacks.
            overhead = 0.02 * self.limit_mib + (12 if self.stacks > 1 else 0)
            flags += ["-prefill-mb", str(max(0, int(self.limit_mib - overhead - _AT_RATE_MIB[self.rate])))]
        return flags


def rate_text(rate):
    return f"{rate} MB/s" if rate else "flat out"


def stacks_text(stacks):
    return "few stacks" if stacks == FEW else f"{stacks:,} stacks"


def every_cell():
    return [Cell(go, build, rate, limit, stacks) for go in GO_VERSIONS for build in BUILDS for rate in RATES
            for limit in LIMITS_MIB for stacks in (FEW, MANY)]


def quick_cells():
    """Every Go and build with few and many stacks; rates and limits take turns."""
    cells = []
    for number, (go, build, stacks) in enumerate((g, b, s) for g in GO_VERSIONS for b in BUILDS for s in (FEW, MANY)):
        cells.append(Cell(go, build, RATES[(number + number // 4) % 4], LIMITS_MIB[number % 3], stacks))
    return cells


def build(go, variant, scratch):
    """leaky-go by that Go. (path, None) or (None, why not).

    A copy made here: its page cache is charged to us, not to the first victim's limit.
    """
    try:
        program = tools.go_program(go, variant)
    except unittest.SkipTest as e:
        return None, str(e)
    made = os.path.join(scratch, f"leaky-go-{go}-{variant}")
    return (made if os.path.exists(made) else shutil.copy(program, made)), None


class Kill:
    """An incident's figures of one kill. Shares are of the victim's anonymous memory."""

    def __init__(self, incident, path):
        self.incident, self.path = incident, path
        rss = incident["victims"][0]["rss"] if incident and incident["victims"] else None
        self.anon_bytes = rss["anon_bytes"] if rss else 0
        self.captures = incident["captures"] if incident else []

    def attempts(self, method):
        return [c for c in self.captures if c["method"] == method]

    def last_good(self, method):
        good = [c for c in self.attempts(method) if c["result"] == "ok"]
        return max(good, key=lambda c: c["time"], default=None)

    def share(self, capture):
        return (capture["inuse_bytes"] or 0) / self.anon_bytes if capture and self.anon_bytes else 0.0

    def method_share(self, method):
        """None without a profile by this method."""
        capture = self.last_good(method)
        return self.share(capture) if capture else None

    def is_complete(self):
        capture = self.last_good("at_kill")
        return bool(capture and capture["complete"])

    def profile(self):
        capture = self.last_good("at_kill")
        return os.path.join(self.incident["_dir"], capture["file"]) if capture and capture["file"] else None

    def why_not(self, cell, chunk_kib):
        """"" for a kill as it should be, else a line with the fault and its reason."""
        if not self.incident:
            return "no incident"
        if not self.is_complete():
            told = [f"{c['result']}:{c['reason']} {c['detail']}".strip() for c in self.attempts("at_kill")]
            return "no complete at_kill profile: " + ("; ".join(told) or "no attempt recorded")
        capture = self.last_good("at_kill")
        if self.share(capture) >= BAR:
            return ""
        return (f"in-use {capture['inuse_bytes'] / MIB:.1f} of {self.anon_bytes / MIB:.1f} MiB anon "
                f"({self.share(capture):.2f}), {capture['buckets']} buckets; {self._accuracy(cell, chunk_kib)}")

    def _accuracy(self, cell, chunk_kib):
        if cell.stacks > 1:
            return "every allocation sampled: the rest is memory of the runtime, its buckets above all"
        block, rate = chunk_kib << 10, 512 << 10
        missed = 2.718281828 ** (-block / rate)
        sigma = (missed / ((1 - missed) * self.anon_bytes / block)) ** 0.5
        return f"sampling at 512 KiB of {chunk_kib} KiB blocks has a standard deviation of {100 * sigma:.1f} %"


class Incidents:
    """A daemon's incidents by cgroup. Each is read once to learn whose it is, so that a thousand
    old ones do not slow down the wait for the next."""

    def __init__(self, witness):
        self._root = os.path.join(witness.data_dir, "incidents")
        self._paths = {}  # directory name -> cgroup path

    def _read(self, name):
        return dict(fileio.read_json(os.path.join(self._root, name, "incident.json")), _dir=os.path.join(self._root, name))

    def _of(self, paths):
        found = {}
        for name in os.listdir(self._root) if os.path.isdir(self._root) else []:
            if name.startswith(".") or self._paths.get(name, "") not in {"", *paths}:
                continue
            incident = self._read(name)
            self._paths[name] = incident["container"]["cgroup_path"]
            found[self._paths[name]] = incident
        return {p: Kill(found.get(p), p) for p in paths}

    def collect(self, boxes):
        """{cgroup path: Kill}, once each box has its incident with its at_kill capture, or 10 s have passed."""
        paths = [b.path for b in boxes]
        try:
            eventually(lambda: all(k.attempts("at_kill") for k in self._of(paths).values()), "incidents", 10, 0.1)
        except NotInTime:
            pass  # what is missing shows in the table
        return self._of(paths)
