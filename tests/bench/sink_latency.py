#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kill -> its log record acknowledged by a real OpenTelemetry Collector on loopback.

The kill's time is the incident's own (mark_victim's CLOCK_MONOTONIC as wall time), the acknowledgement's is what the daemon
notes in .delivery-otlp once the Collector has answered 200. Each record must also be in what the Collector printed.
"""
import os
import sys

from bench_support import Bars, Site, arguments, fileio, percentile, print_conditions, table, tools
from latency import CONFIG, LIMIT_MIB, own_incidents

from harness.otel_collector import OtelCollector
from harness.text_time import unix
from harness.wait import eventually


def acknowledged(incident):
    """When the first form of it was; None: not yet. A revision comes 3 s later and replaces the marker."""
    try:
        marker = fileio.read_json(os.path.join(incident["_dir"], ".delivery-otlp"))
    except (FileNotFoundError, ValueError):  # also while it is being written
        return None
    assert (marker["state"], marker["sent"]) == ("sent", 1), marker
    return unix(marker["at"])


def run_kills(site, witness, kills):
    """[(seconds, id)] of each kill, one after the other."""
    box, found = site.cgroup("sink", LIMIT_MIB), {}
    for number in range(1, kills + 1):
        work = site.start([tools.leaky_go(), "-rate", "200"], box)
        work.wait_killed()
        work.close()
        own = lambda: [i for i in own_incidents(site, witness) if i["id"] not in found]
        newest, = eventually(own, f"incident {number}")
        at = eventually(lambda: acknowledged(newest), lambda: f"an acknowledgement; {witness.log()[-2000:]}")
        found[newest["id"]] = at - unix(newest["time"])
    return found


def main():
    options = arguments(__doc__, kills=100)
    print_conditions()
    with Site() as site:
        collector = OtelCollector(site.scratch)
        site.callback(collector.close)
        witness = site.daemon(CONFIG + f'[sinks.otlp]\nendpoint = "{collector.url}"\n')
        found = run_kills(site, witness, options.kills)
        printed = {r.attributes["oomwitness.incident.id"] for r in collector.logs()}
    seconds = list(found.values())
    print(f"{len(found)} kills of leaky-go at 200 MB/s against {LIMIT_MIB} MiB, one after the other; "
          f"load {os.getloadavg()[0]:.1f} at the end.\n")
    table(("kill -> ... (ms)", "p50", "p90", "p99", "max"),
          [("log record acknowledged", *(f"{percentile(seconds, p) * 1e3:.1f}" for p in (50, 90, 99, 100)))])
    bars = Bars()
    bars.require(f"the Collector printed each: {len(printed & {f'Str({i})' for i in found})} of {len(found)}",
                 {f"Str({i})" for i in found} <= printed)
    bars.require("log record acknowledged: p99 <= 250 ms", percentile(seconds, 99) <= 0.250)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
