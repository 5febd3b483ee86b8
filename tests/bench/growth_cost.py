#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of growth sampling to page faults, by switching it on and off while one run of the load goes on
(growth_cost_bench.cc): for a process that is sampled, for all others meanwhile, and while what is watched does not climb.

While a process climbs the program is attached for 25 s, then a quarter of the time (userspace/growth/growth_rest.h): the bar is for
what others pay over hours of that."""
import os
import sys

from bench_support import Bars, Site, arguments, print_conditions, table
from hook_cost import FOREVER, SLOT_MS, EndlessLoad, measure
from load_runner import built

BAR = 0.02
SHARE = 1 / 4  # GrowthRest::kPercent
WHO = (("another process is watched that does not climb", "resting"), ("another process is sampled", "other"), ("the load itself is sampled", "itself"))


def row(name, chain, samples):
    low, high = chain.effect_interval()
    return (name, f"{100 * (chain.effect() - 1):+.2f} %", f"{100 * (low - 1):+.2f} to {100 * (high - 1):+.2f}",
            f"{100 * chain.floor():.2f}", samples)


def main():
    options = arguments(__doc__, pairs=160)
    print_conditions()
    bars, rows = Bars(), []
    with Site() as site:
        storm = [built("fault_storm"), "64", FOREVER]
        for number, (name, who) in enumerate(WHO):
            box = site.cgroup(f"storm{number}", 256)
            with EndlessLoad(storm, box.procs_file(), os.path.join(site.scratch, "progress")) as load:
                chain, samples = measure("growth_cost_bench", load, options.pairs, str(load.pid) if who == "itself" else who)
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
