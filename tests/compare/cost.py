#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""cost.py OLD NEW [PAIRS]: what two builds (programs) cost, in turns on this machine: a kill's time to its incident on disk,
CPU while nothing happens, resident memory. Ratios of new to old, with the upper bound of the median that holds with 95 %;
fails where that is above the bar. The floor is what ratios of the old build to itself find: a bar below it decides nothing.
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench"))

from bench_support import Site, percentile, print_conditions, table, tools  # noqa: E402
from load_runner import cpu_seconds, wait_idle, wait_watched  # noqa: E402
from paired import Chain  # noqa: E402

from harness.incident_watch import IncidentWatch  # noqa: E402
from harness.process_state import status_bytes  # noqa: E402
from harness.text_time import unix  # noqa: E402
from harness.wait import eventually  # noqa: E402

KILLS, IDLE_S, PAIRS = 8, 5, 12
BARS = {"kill to incident, median ms": 1.03, "kill to incident, worst ms": 1.10, "idle CPU, us a second": 1.03, "resident, MiB": 1.03}


def measured(program):
    """Figures of BARS, in their order, of one run."""
    tools.BINARY = program
    with Site() as site:
        witness = site.daemon()
        watch = IncidentWatch(os.path.join(witness.data_dir, "incidents"))
        wait_watched(witness.pid)
        wait_idle(witness.pid)
        before = cpu_seconds(witness.pid)
        time.sleep(IDLE_S)
        idle = (cpu_seconds(witness.pid) - before) * 1e6 / IDLE_S
        resident = status_bytes(witness.pid, "VmRSS") / (1 << 20)
        box = site.cgroup("cost", 32)
        for number in range(KILLS):
            site.start([tools.memhog(), "--rate-mb-s", "200"], box).wait_killed()
            eventually(lambda: len(watch.seen) > number, "an incident")
        killed = {os.path.basename(i["_dir"]): unix(i["time"]) for i in witness.incidents()}
        taken = [(watch.seen[name] - at) * 1e3 for name, at in killed.items() if name in watch.seen]
    return percentile(taken, 50), max(taken), idle, resident


def main(old, new, pairs=PAIRS):
    print_conditions()
    chains = [Chain() for _ in BARS]
    for turn in range(2 * int(pairs) + 1):
        for chain, figure in zip(chains, measured(os.path.abspath(new if turn % 2 else old))):
            (chain.on if turn % 2 else chain.off).append(figure)
    missed, rows = 0, []
    for (what, bar), chain in zip(BARS.items(), chains):
        low, high = chain.effect_interval()
        missed += high > bar
        rows.append((what, f"{percentile(chain.off, 50):.2f}", f"{percentile(chain.on, 50):.2f}", f"{chain.effect():.3f}",
                     f"{low:.3f} to {high:.3f}", f"{chain.floor() or 0:.3f}", f"{bar} {'MISSED' if high > bar else 'met'}"))
    table(("what", "old", "new", "new / old", "with 95 %", "floor", "bar"), rows)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
