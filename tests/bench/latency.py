#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kill -> incident readable on disk, and kill -> counter visible at /metrics.

The kill's time is the incident's own (mark_victim's CLOCK_MONOTONIC as wall time); the incident's
is inotify's IN_MOVED_TO of its directory; the counter's is the end of the first scrape, one every
5 ms, that shows it.
"""
import os
import sys
import threading
import time

from bench_support import Bars, Site, arguments, percentile, print_conditions, table, tools
from incident_watch import IncidentWatch

from harness.text_time import unix
from harness.wait import eventually

LIMIT_MIB = 64


class CounterWatch(threading.Thread):
    """When each value of the counter was first seen."""

    def __init__(self, daemon, prefix):
        super().__init__(daemon=True)
        self.witness, self.prefix = daemon, prefix
        self.first_seen = {}
        self.is_over = False

    def run(self):
        known = 0
        while not self.is_over:
            value = int(self.witness.scrape().kills(self.prefix))
            now = time.time()
            for step in range(known + 1, value + 1):
                self.first_seen[step] = now
            known = value
            time.sleep(0.005)


def run_kills(site, witness, kills):
    box = site.cgroup("latency", LIMIT_MIB)
    for number in range(1, kills + 1):
        work = site.start([tools.leaky_go(), "-rate", "200"], box)
        work.wait_killed()
        work.close()
        eventually(lambda: box.kernel_kills() == number, "the kernel counts the kill")


def own_incidents(site, witness):
    return [i for i in witness.incidents() if i["container"]["cgroup_path"].startswith("/" + site.prefix)]


def main():
    options = arguments(__doc__, kills=200)
    print_conditions()
    with Site() as site:
        witness = site.daemon("[triggers]\ncooldown_seconds = 0\nbudget = 1000\n[incidents]\nkeep_count = 10000\n")
        watch = IncidentWatch(os.path.join(witness.data_dir, "incidents"))
        counter = CounterWatch(witness, site.prefix)
        counter.start()
        run_kills(site, witness, options.kills)
        eventually(lambda: len(own_incidents(site, witness)) >= options.kills, "every incident")
        eventually(lambda: len(counter.first_seen) >= options.kills, "every count")
        counter.is_over = True
        counter.join()
        incidents = sorted(own_incidents(site, witness), key=lambda i: i["time"])
        on_disk = [watch.seen[os.path.basename(i["_dir"])] - unix(i["time"]) for i in incidents]
        counted = [counter.first_seen[n + 1] - unix(i["time"]) for n, i in enumerate(incidents)]
        captured = sum(any(c["result"] == "ok" for c in i["captures"]) for i in incidents)
    print(f"{len(incidents)} kills of leaky-go at 200 MB/s against {LIMIT_MIB} MiB, one after the other, "
          f"{captured} of them with a capture.\n")
    rows = [(name, *(f"{percentile(v, p) * 1e3:.1f}" for p in (50, 90, 99, 100)))
            for name, v in (("incident readable on disk", on_disk), ("counter visible at /metrics", counted))]
    table(("kill -> ... (ms)", "p50", "p90", "p99", "max"), rows)
    bars = Bars()
    bars.require("incident on disk: p99 < 50 ms", percentile(on_disk, 99) < 0.050)
    bars.require("counter visible: p99 < 100 ms", percentile(counted, 99) < 0.100)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
