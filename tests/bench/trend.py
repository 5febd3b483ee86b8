#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What trends of 50 Go heaps cost: CPU of the daemon with and without them, at the default schedule and per reading."""
import sys
import time

from bench_support import Bars, Site, arguments, print_conditions, table, tools
from load_runner import cpu_seconds

OFF = "[trend]\nenabled = false\n"
DEFAULT = ""
# Every second each: what one reading takes, without waiting an hour for as many.
DENSE = "[trend]\nmin_interval_seconds = 1\nmax_interval_seconds = 1\n"


def readings(witness):
    return witness.scrape().sum("oomwitness_trend_readings_total", result="ok")


def measure(config, options):
    """(CPU seconds a second, readings a second, bytes) of a daemon beside the heaps that are there."""
    with Site() as site:
        witness = site.daemon(config)
        time.sleep(15)  # the start-up scan, and the spread of the first readings
        cpu, count, since = cpu_seconds(witness.pid), readings(witness), time.monotonic()
        time.sleep(options.seconds)
        took = time.monotonic() - since
        spent, taken = cpu_seconds(witness.pid) - cpu, readings(witness) - count
        return spent / took, taken / took, witness.scrape().sum("oomwitness_trend_memory_bytes")


def start_heaps(site, options):
    program = tools.go_program("1.19", "strip")
    for number in range(options.processes):
        box = site.cgroup(f"heap{number}", 256)
        # 1,000 small blocks from stacks of their own, all sampled: as many buckets in use as a Collector has.
        site.start([program, "-listen", "", "-stacks", str(options.buckets), "-profile-rate", "1", "-limit-mb", "4",
                    "-rate", "0"], box)


def main():
    options = arguments(__doc__, seconds=120, processes=50, buckets=1000)
    print_conditions()
    with Site() as site:
        start_heaps(site, options)
        time.sleep(5)
        off, _, _ = measure(OFF, options)
        default, default_rate, kept = measure(DEFAULT, options)
        dense, dense_rate, _ = measure(DENSE, options)
    each = (dense - off) / dense_rate if dense_rate else float("nan")
    print(f"{options.processes} Go programs with {options.buckets} stacks each, {options.seconds} s a run.\n")
    table(("schedule", "daemon, % of a core", "readings a second"), (
        ("off", f"{100 * off:.3f}", "0"),
        ("default", f"{100 * default:.3f}", f"{default_rate:.2f}"),
        ("every second", f"{100 * dense:.3f}", f"{dense_rate:.2f}")))
    print(f"One reading: {each * 1e3:.2f} ms of CPU. Kept: {kept / (1 << 20):.2f} MiB.")
    bars = Bars()
    bars.require("trends at the default schedule <= 0.1 % of a core (by the cost of one reading)",
                 each * default_rate <= 0.001)
    bars.require("memory <= 8 MiB", kept <= 8 << 20)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
