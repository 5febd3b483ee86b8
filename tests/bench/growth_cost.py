#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of growth sampling to page faults, by switching it on and off while one run of the load goes on
(growth_cost_bench.cc): for a process that is sampled, for all others meanwhile, and while what is watched does not climb.

While a process climbs the program is attached for 25 s, then a quarter of the time (userspace/growth/growth_rest.h): the bar is for
what others pay over hours of that."""
import os
import subprocess
import sys

from bench_support import Bars, Site, arguments, print_conditions, table, tools
from hook_cost import SLOT_MS, EndlessLoad, FOREVER
from load_runner import TRACER_CPU, built
from paired import Chain

BAR = 0.02
SHARE = 1 / 4  # GrowthRest::kPercent
WHO = (("another process is watched that does not climb", "resting"), ("another process is sampled", "other"), ("the load itself is sampled", "itself"))


def binary():
    path = os.path.join(os.path.dirname(os.path.dirname(tools.BINARY)), "tests", "growth_cost_bench")
    if not os.access(path, os.X_OK):
        sys.exit(f"{path} is not there: --binary must be in a build folder that has growth_cost_bench")
    return path


def measure(argv, box, progress, who, pairs):
    """A Chain of CPU nanoseconds a unit of work, and what the bench says of its samples."""
    with EndlessLoad(argv, box.procs_file(), progress) as load:
        watched = str(load.pid) if who == "itself" else who
        done = subprocess.run(["nice", "-n", "-20", "taskset", "-c", str(TRACER_CPU), binary(), progress, str(pairs), str(SLOT_MS), watched],
                              capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    chain = Chain()
    for side, units, cpu_ns in (slot.split() for slot in done.stdout.splitlines()):
        (chain.on if side == "on" else chain.off).append(int(cpu_ns) / int(units))
    return chain, done.stderr.strip()


def row(name, chain, samples):
    low, high = chain.effect_interval()
    return (name, f"{100 * (chain.effect() - 1):+.2f} %", f"{100 * (low - 1):+.2f} to {100 * (high - 1):+.2f}",
            f"{100 * chain.floor():.2f}", samples)


def main():
    options = arguments(__doc__, pairs=160)
    print_conditions()
    bars, rows = Bars(), []
    with Site() as site:
        load = [built("fault_storm"), "64", FOREVER]
        for number, (name, who) in enumerate(WHO):
            chain, samples = measure(load, site.cgroup(f"storm{number}", 256), os.path.join(site.scratch, "progress"), who, options.pairs)
            rows.append((who, chain, row(name, chain, samples)))
    print(f"CPU time of a page fault, with / without, medians of {options.pairs} pairs of {SLOT_MS} ms:\n")
    table(("page faults while", "cost, %", "95 %", "floor", "samples"), [shown for _, _, shown in rows])
    for who, chain, (name, *_) in rows:
        cost, share = chain.effect() - 1, 1 if who == "resting" else SHARE
        if who == "itself":
            continue
        if chain.floor() * share > BAR:
            print(f"not resolved  {name}: the noise is above the bar")
        else:
            bars.require(f"{name}: {100 * cost * share:+.2f} % over hours, at most {100 * BAR:.0f} %", cost * share <= BAR)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
