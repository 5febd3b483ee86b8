#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What is lost by a hook on page faults that rests (WatermarkGate): leaks from far below their limit to the kill,
each started while the hook is off, against the same with the hook always on.

Of each leak: how many of the levels 50 to 95 % were told of before the kill, and how early the first and the 80 % one.
Where `watermark` is served by fentry or from files no hook rests: --rung tp_btf asks for one.
"""
import os
import statistics
import sys

from bench_support import Site, arguments, print_conditions, table, tools

from harness.wait import eventually

LIMIT_MIB, HELD_MIB = 64, 8
RATES = (("20 MiB/s", "20"), ("100 MiB/s", "100"), ("as fast as it goes", "0"))
LEVELS = (50, 70, 80, 85, 90, 95)


def config(rung, is_resting):
    best = f'[kernel.best_rung]\nwatermark = "{rung}"\n'
    return f"[kernel]\nrest_page_fault_hook = {str(is_resting).lower()}\npage_fault_hook_hold_seconds = 0.5\n{best}"


def one_leak(site, daemon, box, rate, is_resting):
    """{level: seconds before the kill} of the levels reported."""
    start = os.path.join(site.scratch, box.name)
    work = site.start([tools.memhog(), "--hold-mb", str(HELD_MIB), "--rate-mb-s", rate, "--wait-file", start], box)
    if is_resting:
        eventually(lambda: daemon.scrape().sum("oomwitness_page_fault_hook_attached") == 0, "the hook to rest", every_s=0.2)
    open(start, "w").close()
    work.wait_killed()
    own = lambda: [i for i in daemon.incidents() if i["container"]["cgroup_path"] == box.path]
    incident = eventually(lambda: (own() or [None])[0], "its incident", every_s=0.1)
    marks = [m for m in incident["pressure"]["watermarks"] if m["lead_seconds"] > 0]
    return {level: max(m["lead_seconds"] for m in marks if m["level_percent"] >= level)
            for level in LEVELS if any(m["level_percent"] >= level for m in marks)}


def row(leaks, level):
    leads = [leak[level] for leak in leaks if level in leak]
    return f"{len(leads)} of {len(leaks)}, {1000 * statistics.median(leads):.0f} ms" if leads else f"0 of {len(leaks)}"


def main():
    options = arguments(__doc__, runs=10, rung="tp_btf")
    print_conditions()
    rows = []
    for name, rate in RATES:
        for is_resting in (False, True):
            with Site() as site:
                daemon = site.daemon(config(options.rung, is_resting))
                leaks = [one_leak(site, daemon, site.cgroup(f"leak{n}", LIMIT_MIB), rate, is_resting) for n in range(options.runs)]
            told = statistics.mean(len(leak) for leak in leaks)
            rows.append((name, "at rest" if is_resting else "always on", f"{told:.1f} of {len(LEVELS)}", row(leaks, 50), row(leaks, 80), row(leaks, 95)))
    print(f"{HELD_MIB} MiB to {LIMIT_MIB} MiB and the kill; leaks told of before it, and the median time that was left:\n")
    table(("leak", "hook", "levels reached by a mark", "50 %", "80 %", "95 %"), rows)


if __name__ == "__main__":
    sys.exit(main())
