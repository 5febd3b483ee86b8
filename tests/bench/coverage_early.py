# SPDX-License-Identifier: Apache-2.0
"""Processes that die within 100 ms of their exec: how many leave a profile?"""
import time

from bench_support import Site, percentile, table
from coverage_kills import CONFIG, GO_VERSIONS, Incidents, build

from harness.text_time import unix
from harness.workload import Workload

LIMITS_MIB = (16, 32, 64, 128)
SLICES_MS = (25, 50, 100)
KILLS = 10


def _one(site, incidents, binary, limit_mib, serial):
    """(milliseconds from before the shell that execs it to the kill, Kill)."""
    box = site.cgroup(f"early{serial}", limit_mib)
    started = time.time()
    work = site.enter_context(Workload([binary, "-listen", "", "-rate", "0", "-chunk", str(1 << 20)], box, own_netns=False))
    work.wait_killed()
    kill = incidents.collect([box])[box.path]
    work.close()
    box.close()
    return ((unix(kill.incident["time"]) - started) * 1e3 if kill.incident else None), kill


def _row(name, found):
    complete = sum(kill.is_complete() for _, kill in found)
    shares = [s for _, kill in found if (s := kill.method_share("at_kill")) is not None]
    lives = [life for life, _ in found]
    return (name, len(found), f"{percentile(lives, 50):.0f}", f"{100 * complete / len(found):.0f} %",
            f"{min(shares):.2f} / {percentile(shares, 50):.2f}" if shares else "-")


def _print_reasons(timed):
    lives = {}
    for life, kill in timed:
        if not kill.is_complete():
            told = [f"{c['result']}:{c['reason']} {c['detail']}".strip() for c in kill.attempts("at_kill")]
            lives.setdefault("; ".join(told) or "no at_kill attempt recorded", []).append(f"{life:.0f}")
    for reason, after in sorted(lives.items()):
        print(f"- no complete profile of {len(after)}: {reason} (after {', '.join(after)} ms)")
    print(flush=True)


def early_section(bars):
    """Lives are upper bounds: they begin before the shell that moves into the cgroup and execs."""
    found = []
    with Site() as site:
        binaries = [made for go in GO_VERSIONS for made in [build(go, "strip", site.scratch)[0]] if made]
        incidents = Incidents(site.daemon(CONFIG))
        for serial, (limit, binary) in enumerate((l, b) for l in LIMITS_MIB for b in binaries for _ in range(KILLS)):
            found.append((limit, *_one(site, incidents, binary, limit, serial)))
    timed = [(life, kill) for _, life, kill in found if life is not None]
    early = [f for f in timed if f[0] <= SLICES_MS[-1]]
    print(f"\nEarly deaths: {len(timed)} kills of leaky-go flat out (Go {', '.join(GO_VERSIONS)}, -s -w), the daemon idle before; "
          "the life is measured from before the start of the shell that execs it.\n")
    rows, low = [], 0
    for high in (*SLICES_MS, float("inf")):
        part = [f for f in timed if low < f[0] <= high]
        if part:
            rows.append(_row(f"{low}-{high:.0f} ms" if high < float("inf") else f"> {low} ms", part))
        low = high
    if early:
        rows.append(_row(f"all <= {SLICES_MS[-1]} ms", early))
    table(("life", "kills", "median life ms", "complete at_kill", "in-use / anon (min / median)"), rows)
    _print_reasons(timed)
    share = sum(k.is_complete() for _, k in early) / len(early) if early else 0.0
    bars.require(f"killed within 100 ms of exec: >= 90 % with a profile ({100 * share:.0f} % of {len(early)})", share >= 0.9)
