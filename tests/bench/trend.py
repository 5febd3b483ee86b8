#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What trends of 50 Go heaps cost: CPU of the thread that reads them, at the default schedule and for one reading."""
import sys
import time

from bench_support import Bars, Site, arguments, print_conditions, table, tools
from load_runner import cpu_seconds

DEFAULT = ""
FIRST_ROUND_SECONDS = 15
TREND_THREADS = "oomw-trend"  # they read and judge: the daemon's other work is not theirs
# Every second each: what one reading takes, without waiting an hour for as many.
DENSE = "[trend]\nmin_interval_seconds = 1\nmax_interval_seconds = 1\n"


def measure(config, options):
    """Of a daemon beside the heaps that are there: (CPU seconds of the first round, CPU seconds, readings, checks without
    a reading, bytes, seconds), all from its start on."""
    with Site() as site:
        witness = site.daemon(config)
        time.sleep(FIRST_ROUND_SECONDS)
        first_round = cpu_seconds(witness.pid, TREND_THREADS)
        time.sleep(options.seconds - FIRST_ROUND_SECONDS)
        scrape = witness.scrape()
        return (first_round, cpu_seconds(witness.pid, TREND_THREADS),
                scrape.sum("oomwitness_trend_readings_total", result="ok"),
                scrape.sum("oomwitness_trend_readings_total", result="no_gc"),
                scrape.sum("oomwitness_trend_memory_bytes"), time.monotonic() - witness.started_at)


def start_heaps(site, options):
    program = tools.go_program("1.19", "strip", "steady-go")
    for number in range(options.processes):
        box = site.cgroup(f"heap{number}", 256)
        # As many buckets in use as a large service has, and a collection before each reading: without one, the
        # reading is left out, and would cost nothing to speak of.
        site.start([program, "-stacks", str(options.buckets), "-gc-every", "1s"], box)


def main():
    options = arguments(__doc__, seconds=600, processes=50, buckets=500)
    print_conditions()
    with Site() as site:
        start_heaps(site, options)
        time.sleep(5)
        runs = {"default": measure(DEFAULT, options), "every second": measure(DENSE, options)}
    print(f"{options.processes} Go programs with {options.buckets} stacks each, {options.seconds} s a run; other Go "
          "programs of the node are read, too.\n")
    table(("schedule", "readings", "left out", "a reading, ms of CPU", "% of a core", "without the first round",
           "kept, MiB"),
          [(name, f"{n:.0f}", f"{left_out:.0f}", f"{1e3 * cpu / max(n, 1):.2f}", f"{100 * cpu / took:.3f}",
            f"{100 * (cpu - first) / (took - FIRST_ROUND_SECONDS):.3f}", f"{kept / (1 << 20):.2f}")
           for name, (first, cpu, n, left_out, kept, took) in runs.items()])
    _, cpu, count, _, kept, took = runs["default"]
    bars = Bars()
    bars.require("every heap read at the default schedule", count >= options.processes)
    bars.require("trends at the default schedule <= 0.1 % of a core", cpu / took <= 0.001)
    bars.require("memory <= 8 MiB", max(kept, runs["every second"][4]) <= 8 << 20)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
