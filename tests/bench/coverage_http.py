#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Share of kills that leave a heap profile taken at >= 90 % of the limit, by the leak's rate.

Each kill is a cgroup and a network namespace of its own. Up to 10 MB/s the kills of a rate run
together (256 s each at 1 MB/s, nearly idle); above that one after the other, so that they do not
take each other's CPU.
"""
import os
import shutil
import sys

from bench_support import Bars, Site, arguments, percentile, print_conditions, table, tools
from coverage_kills import rate_text

from harness.wait import eventually

LIMIT_MIB = 256
TOGETHER_UP_TO_MB_S = 10


def start_one(site, rate, number, binary):
    box = site.cgroup(f"{rate}-{number}", LIMIT_MIB)
    return box, site.start([binary, "-rate", str(rate)], box)


def run_rate(site, rate, kills, binary):
    boxes = []
    together = 0 < rate <= TOGETHER_UP_TO_MB_S
    running = []
    for number in range(kills):
        box, work = start_one(site, rate, number, binary)
        boxes.append(box)
        running.append(work)
        if not together:
            running.pop().wait_killed(600)
    for work in running:
        work.wait_killed(900)
    return boxes


def judge(incidents, boxes):
    """Per kill: the highest usage / limit of a good capture, and its in-use / limit."""
    by_path = {i["container"]["cgroup_path"]: i for i in incidents}
    shares, inuse, reasons = [], [], {}
    for box in boxes:
        captures = by_path[box.path]["captures"] if box.path in by_path else []
        good = [c for c in captures if c["result"] == "ok"]
        best = max(good, key=lambda c: c["usage_bytes"], default=None)
        shares.append(best["usage_bytes"] / box.limit_bytes if best else 0.0)
        if best:
            inuse.append(best["inuse_bytes"] / box.limit_bytes)
        for c in captures:
            if c["result"] != "ok":
                key = f"{c['result']}:{c['reason']}"
                reasons[key] = reasons.get(key, 0) + 1
    return shares, inuse, reasons


def row_of(rate, shares, inuse, reasons):
    over = lambda level: f"{100 * sum(s >= level for s in shares) / len(shares):.0f} %"
    return (rate_text(rate), len(shares), over(0.01), over(0.8), over(0.9), f"{percentile(shares, 50):.2f}",
            f"{min(shares):.2f}", f"{percentile(inuse, 50):.2f}" if inuse else "-",
            ", ".join(f"{k} {v}" for k, v in sorted(reasons.items())) or "-")


def main():
    options = arguments(__doc__, kills=20, rates="1,10,50,200,500,0")
    print_conditions()
    rows, results = [], {}
    for rate in map(int, options.rates.split(",")):
        with Site() as site:
            # A copy made here: its page cache is charged to us, not to the first victim's limit.
            binary = shutil.copy(tools.leaky_go(), os.path.join(site.scratch, "leaky-go"))
            witness = site.daemon()
            boxes = run_rate(site, rate, options.kills, binary)
            paths = {b.path for b in boxes}
            found = lambda: [i for i in witness.incidents() if i["container"]["cgroup_path"] in paths]
            eventually(lambda: len(found()) >= len(boxes), "every incident")
            eventually(lambda: witness.scrape().kills(site.prefix) >= len(boxes), "every count")
            shares, inuse, reasons = judge(found(), boxes)
        results[rate] = sum(s >= 0.9 for s in shares) / len(shares)
        rows.append(row_of(rate, shares, inuse, reasons))
        print(f"... {rate_text(rate)}: {rows[-1][4]} at >= 90 %", file=sys.stderr, flush=True)
    print(f"{options.kills} kills a rate, limit {LIMIT_MIB} MiB, leaky-go with an endpoint on 127.0.0.1:1777 in its "
          "own network namespace, default configuration.\n")
    table(("leak", "kills", "any capture", ">= 80 % of limit", ">= 90 %", "median usage/limit", "least",
           "median in-use/limit", "attempts without a profile"), rows)
    bars = Bars()
    for rate, share in results.items():
        if 1 <= rate <= 200:
            bars.require(f"{rate_text(rate)}: 100 % of kills with a capture at >= 90 %", share == 1.0)
        elif rate == 500:
            bars.require(f"{rate_text(rate)}: >= 95 % of kills with a capture at >= 90 %", share >= 0.95)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
