#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Is the endpoint that leaks named? Real kills of services on eight Go frameworks: each endpoint of each leaks in turn.

The services are tests/workloads/go-frameworks: no code of theirs is special for a leak, -leak lifts the bound of what
one endpoint keeps. Each prints which functions its endpoints are; an answer is right that names one of these, or the
function around a literal where no other endpoint's is in it. --quick: one endpoint of each framework.
"""
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

from bench_support import (MIB, Bars, MemoryCgroup, Site, Workload, arguments, print_conditions, settled_incident, table,
                           tools)

from harness.wait import eventually

BAR = 0.95
GO = "1.27"
LIMIT_MIB, JOBS = 80, 2
# Its client is in the same process, and messages of maps are large: 50 MiB before anything leaks.
LIMITS_MIB = {"grpc": 96}


class Run:
    """One endpoint of one service that leaks, and what its incident names."""

    def __init__(self, framework, endpoint, names, accepted):
        self.framework, self.endpoint, self.names, self.accepted = framework, endpoint, names, accepted
        self.named = self.largest = None
        self.problem, self.folder, self.seconds = "", None, 0.0

    def is_it(self, operation):
        """By name; a literal by the function that it stands in, where that holds one endpoint only."""
        return operation.removesuffix("-fm") in self.accepted

    @property
    def outcome(self):
        if self.problem:
            return "(did not run)"
        return "none" if not self.named else "right" if self.is_it(self.named) else "WRONG"


def outside_literals(name):
    return re.sub(r"(\.func\d+|\.\d+)+$", "", name)


def runs_of(framework, endpoints):
    """endpoints: (endpoint, names of its handler)."""
    outer = [outside_literals(name) for _, names in endpoints for name in names]
    for endpoint, names in endpoints:
        alone = {outside_literals(name) for name in names if outer.count(outside_literals(name)) == 1}
        yield Run(framework, endpoint, names, {*names} | alone)


def read_runs(folder, quick):
    runs = []
    for number, framework in enumerate(sorted(os.listdir(folder))):
        done = subprocess.run([os.path.join(folder, framework), "-endpoints"], check=True, capture_output=True, text=True)
        endpoints = [line.split("\t") for line in done.stdout.splitlines()]
        all_runs = list(runs_of(framework, [(e, [n.removesuffix("-fm") for n in names.split()]) for e, names in endpoints]))
        runs += [all_runs[number % len(all_runs)]] if quick else all_runs
    return runs


def carry_out(site, witness, folder, run, number):
    start = time.monotonic()
    try:
        limit_mib = LIMITS_MIB.get(run.framework, LIMIT_MIB)
        with MemoryCgroup(f"{site.prefix}ops{number}", limit_mib * MIB) as box, \
                Workload([os.path.join(folder, run.framework), "-leak", run.endpoint], box) as work:
            work.wait_killed()
            run.seconds = time.monotonic() - start
            incident = eventually(lambda: settled_incident(witness, {box.path}), "an incident that is whole", 60, 0.5)
    except Exception as e:  # the other runs are worth having
        run.problem = f"{type(e).__name__}: {e}"
        return run
    run.folder = incident["_dir"]
    run.named = ((incident["answer"] or {}).get("culprit") or {}).get("operation")
    operations = incident["operations"] or []
    run.largest = f"{operations[0]['name']} {100 * operations[0]['share']:.0f} %" if operations else "-"
    return run


def keep(run, folder):
    if run.folder and run.outcome != "right":
        name = re.sub(r"\W+", "-", f"{run.framework} {run.endpoint}").strip("-")
        shutil.copytree(run.folder, os.path.join(folder, name), dirs_exist_ok=True)


def run_all(runs, folder, kept):
    with Site() as site:
        witness = site.daemon("[incidents]\nkeep_count = 1000\n")
        with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
            waiting = [pool.submit(carry_out, site, witness, folder, run, n) for n, run in enumerate(runs)]
            for done in concurrent.futures.as_completed(waiting):
                run = done.result()
                print(f"{run.outcome:6}{run.framework}: {run.endpoint}, {run.seconds:.0f} s {run.problem}", flush=True)
                keep(run, kept)
        shutil.copy(witness.log_file.name, os.path.join(kept, "daemon.log"))


def main():
    options = arguments(__doc__, ("quick",))
    try:
        folder = tools.supplied("frameworks_build.sh", GO)
    except unittest.SkipTest as e:
        print(f"skipped: {e}")
        return 0
    runs = read_runs(folder, options.quick)
    print_conditions()
    kept, start = tempfile.mkdtemp(prefix="oomw-operations-"), time.monotonic()
    run_all(runs, folder, kept)
    print()
    table(("framework", "leaks", "its handler", "named by the answer", "largest of operations[]", ""),
          [(r.framework, r.endpoint, r.names[0], r.named or "-", r.largest or "-", r.outcome) for r in runs])
    counts = {o: sum(r.outcome == o for r in runs) for o in ("right", "WRONG", "none", "(did not run)")}
    print(", ".join(f"{n} {o}" for o, n in counts.items()), f"of {len(runs)}; {time.monotonic() - start:.0f} s in all.")
    print(f"Incidents whose answer is not right, and the daemon's log: {kept}")
    bars = Bars()
    bars.require(f"the endpoint named in >= {100 * BAR:.0f} %", counts["right"] >= BAR * len(runs))
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
