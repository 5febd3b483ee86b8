#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How much of a killed Go process's memory the heap profile taken at its kill explains.

Sections: the matrix of Go x build x rate x limit x stacks (always), --early (killed within 100 ms
of exec), --peers (side by side with polling the endpoint). Every kill that is not as it should be
is printed with its reason. --quick is a sample of the matrix, about a tenth of its cells.
"""
import argparse
import sys
import time

from bench_support import Bars, Site, parsed, percentile, print_conditions, table, tools
from coverage_kills import BAR, BUILDS, CONFIG, VERY_MANY, Cell, Incidents, build, every_cell, quick_cells, rate_text
from coverage_kills import GO_VERSIONS, stacks_text
from coverage_peers import peers_section

from harness.text_time import unix
from harness.workload import Workload

# Memory of all victims together, and how many of a rate may leak side by side: fast ones would take
# each other's CPU.
TOGETHER_MIB = 10240
TOGETHER = {1: 24, 50: 4, 500: 1, 0: 1}
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


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    parser.add_argument("--quick", action="store_true", help="18 cells, 4 kills each")
    parser.add_argument("--kills", type=int, help="kills a cell (default 5, 1,090 in all; 4 with --quick)")
    parser.add_argument("--chunk-kib", type=int, default=1024, help="one leaked block; small ones are sampled less surely")
    parser.add_argument("--go", help="only these versions, comma-separated")
    parser.add_argument("--rates", help="only these rates, comma-separated MB/s; 0 is flat out")
    parser.add_argument("--early", action="store_true")
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--no-matrix", action="store_true")
    options = parsed(parser)
    options.kills = options.kills or (4 if options.quick else 5)
    return options


def cells_of(options):
    cells = quick_cells() if options.quick else every_cell()
    # More buckets than the nearest rival's map holds.
    cells += [Cell(go, "strip", 0, 256, VERY_MANY) for go in ("1.19", "1.27")]
    versions = options.go and options.go.split(",")
    rates = options.rates and [int(r) for r in options.rates.split(",")]
    return [c for c in cells if (not versions or c.go in versions) and (not rates or c.rate in rates)]


def batches(cells, kills):
    """Lists of (cell, number) that may run side by side."""
    for rate, together in TOGETHER.items():
        batch, used_mib = [], 0
        for job in ((c, n) for c in cells if c.rate == rate for n in range(kills)):
            limit = job[0].limit_mib
            if batch and (len(batch) == together or used_mib + limit > TOGETHER_MIB):
                yield batch
                batch, used_mib = [], 0
            batch.append(job)
            used_mib += limit
        if batch:
            yield batch


def run_batch(site, incidents, batch, binaries, options, serial):
    boxes = [site.cgroup(f"{serial}-{n}", cell.limit_mib) for n, (cell, _) in enumerate(batch)]
    running = [site.start([binaries[cell.go, cell.build], *cell.flags(options.chunk_kib)], box)
               for (cell, _), box in zip(batch, boxes)]
    for work in running:
        work.wait_killed(600)
    kills = incidents.collect(boxes)
    for work, box in zip(running, boxes):
        work.close()
        box.close()
    return [(cell, kills[box.path]) for (cell, _), box in zip(batch, boxes)]


def first_function(kill):
    """The first line of `go tool pprof -top`; "" without a profile."""
    path = kill.profile()
    top = tools.pprof_top(path) if path else []
    return top[0][1] if top else ""


def run_matrix(options):
    """[(cell, [Kill])] and {cell: first function of its first profile}."""
    results, tops, skipped = {}, {}, {}
    with Site() as site:
        binaries = {}
        for key in {(c.go, c.build) for c in cells_of(options)}:
            binaries[key], why = build(*key, site.scratch)
            if why:
                skipped[key] = why
        cells = [c for c in cells_of(options) if (c.go, c.build) not in skipped]
        incidents = Incidents(site.daemon(CONFIG))
        for serial, batch in enumerate(batches(cells, options.kills)):
            for cell, kill in run_batch(site, incidents, batch, binaries, options, serial):
                results.setdefault(cell, []).append(kill)
                if cell not in tops or not tops[cell]:
                    tops[cell] = first_function(kill)
            print(f"... {sum(map(len, results.values()))} of {len(cells) * options.kills} kills, "
                  f"{time.monotonic() - STARTED:.0f} s", file=sys.stderr, flush=True)
    return results, tops, skipped


def share_text(values):
    """Least and median of those that have a profile, and how many do where not all."""
    have = [v for v in values if v is not None]
    count = "" if len(have) == len(values) else f" ({len(have)} of {len(values)})"
    return f"{min(have):.2f} / {percentile(have, 50):.2f}{count}" if have else "none"


def row(name, kills):
    complete = sum(k.is_complete() for k in kills)
    walks = [c["duration_seconds"] * 1e3 for k in kills if (c := k.last_good("at_kill")) and c["duration_seconds"]]
    walk = f"{percentile(walks, 50):.2f} / {max(walks):.2f}" if walks else "-"
    return (*name, len(kills), f"{100 * complete / len(kills):.1f} %",
            *(share_text([k.method_share(m) for k in kills]) for m in ("at_kill", "live", "http")), walk)
HEADER = ("kills", "at_kill complete", "at_kill in-use / anon (min / median)", "live", "http", "walk ms (median / max)")


def print_tables(results):
    table(("Go", "build", "leak", "limit", "stacks", *HEADER),
          [row((c.go, BUILDS[c.build], rate_text(c.rate), f"{c.limit_mib} MiB", stacks_text(c.stacks)), k)
           for c, k in results.items()])
    for title, key in (("Go and build", lambda c: (f"{c.go} {BUILDS[c.build]}",)), ("leak", lambda c: (rate_text(c.rate),)),
                       ("limit", lambda c: (f"{c.limit_mib} MiB",)), ("stacks", lambda c: (stacks_text(c.stacks),)),
                       ("all", lambda c: ("all",))):
        groups = {}
        for cell, kills in results.items():
            groups.setdefault(key(cell), []).extend(kills)
        table((title, *HEADER), [row(name, kills) for name, kills in groups.items()])


def print_exceptions(results, options):
    print("Exceptions:")
    lines = [f"- {cell}, kill {number}: {why}" for cell, kills in results.items()
             for number, kill in enumerate(kills, 1) if (why := kill.why_not(cell, options.chunk_kib))]
    print("\n".join(lines) or "- none")
    print(flush=True)


def matrix_section(options, bars):
    results, tops, skipped = run_matrix(options)
    kills = [k for ks in results.values() for k in ks]
    print(f"Matrix: {len(kills)} kills in {len(results)} cells. leaky-go leaks blocks of {options.chunk_kib} KiB; with "
          "20,000 and more stacks first 1 KiB from each stack, every allocation sampled. Slow leaks start near the limit.\n")
    for (go, variant), why in sorted(skipped.items()):
        print(f"Skipped: Go {go} {BUILDS[variant]}: {why}\n")
    if not kills:
        bars.require("there is a Go to build the victims with", False)
        return
    print_tables(results)
    print_exceptions(results, options)
    right = sum(t == "main.leakyCache" for t in tops.values())
    print(f"`go tool pprof -top` of an at_kill profile names main.leakyCache first in {right} of {len(tops)} cells.")
    for cell, top in tops.items():
        if top != "main.leakyCache":
            print(f"- {cell}: {top or 'no profile'}")
    bars.require("100 % of kills have a complete at_kill profile", all(k.is_complete() for k in kills))
    ratios = [k.method_share("at_kill") or 0.0 for k in kills]
    bars.require(f"held now >= {BAR} x anon in every kill", min(ratios) >= BAR)
    bars.require("go tool pprof -top names the leaking function first in every cell", right == len(tops))


def main():
    options = parse()
    print_conditions()
    bars = Bars()
    if not options.no_matrix:
        matrix_section(options, bars)
    if options.early:
        early_section(bars)
    if options.peers:
        peers_section(bars)
    print(f"\n{time.monotonic() - STARTED:.0f} s in all.")
    return bars.finish(options)
STARTED = time.monotonic()

if __name__ == "__main__":
    sys.exit(main())
