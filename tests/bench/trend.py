#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What trends of 50 Go heaps cost: CPU of the thread that reads them, at the default schedule and for one reading."""
import os
import sys
import time

from bench_support import Bars, Site, arguments, print_conditions, table, tools

DEFAULT = ""
# Every second each: what one reading takes, without waiting an hour for as many.
DENSE = "[trend]\nmin_interval_seconds = 1\nmax_interval_seconds = 1\n"


def trend_cpu_seconds(pid):
    """Of the threads that read and judge, to the nanosecond: the daemon's other work is not theirs."""
    total_ns = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        folder = f"/proc/{pid}/task/{thread}"
        with open(f"{folder}/comm") as comm, open(f"{folder}/schedstat") as stat:
            if comm.read().startswith("oomw-trend"):
                total_ns += int(stat.read().split()[0])
    return total_ns / 1e9


def measure(config, options):
    """(CPU seconds, readings, bytes, seconds) of a daemon beside the heaps that are there, from its start on."""
    with Site() as site:
        witness = site.daemon(config)
        time.sleep(options.seconds)
        scrape = witness.scrape()
        return (trend_cpu_seconds(witness.pid), scrape.sum("oomwitness_trend_readings_total", result="ok"),
                scrape.sum("oomwitness_trend_memory_bytes"), time.monotonic() - witness.started_at)


def start_heaps(site, options):
    program = tools.go_program("1.19", "strip")
    for number in range(options.processes):
        box = site.cgroup(f"heap{number}", 256)
        # Small blocks from stacks of their own, all sampled: as many buckets in use as a large service has.
        site.start([program, "-listen", "", "-stacks", str(options.buckets), "-profile-rate", "1", "-limit-mb", "4",
                    "-rate", "0"], box)


def main():
    options = arguments(__doc__, seconds=600, processes=50, buckets=500)
    print_conditions()
    with Site() as site:
        start_heaps(site, options)
        time.sleep(5)
        runs = {"default": measure(DEFAULT, options), "every second": measure(DENSE, options)}
    print(f"{options.processes} Go programs with {options.buckets} stacks each, {options.seconds} s a run; other Go "
          "programs of the node are read, too.\n")
    table(("schedule", "readings", "a reading, ms of CPU", "% of a core", "kept, MiB"),
          [(name, f"{n:.0f}", f"{1e3 * cpu / max(n, 1):.2f}", f"{100 * cpu / took:.3f}", f"{kept / (1 << 20):.2f}")
           for name, (cpu, n, kept, took) in runs.items()])
    cpu, count, kept, took = runs["default"]
    bars = Bars()
    bars.require("every heap read at the default schedule", count >= options.processes)
    bars.require("trends at the default schedule <= 0.1 % of a core", cpu / took <= 0.001)
    bars.require("memory <= 8 MiB", max(kept, runs["every second"][2]) <= 8 << 20)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
