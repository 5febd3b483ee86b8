#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What trends cost beside 50 quiet programs of five runtimes far below their limits, at the default schedule: CPU that the
daemon counts for readings, of its threads and its reader processes, and, on a node where nothing else is killed or
started, all CPU of both less that of a daemon without trends. What is spent ahead, once, is in it."""
import os
import shutil
import sys
import time

from bench_support import Bars, Site, arguments, fileio, print_conditions, table, tools
from load_runner import cpu_seconds

from harness.process_state import children

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
START_SECONDS = 30  # the first looks at the node, and the Go heaps' first round
PYTHON_ROWS = """
import time
rows = [{"row": n, "customer": "customer-%d" % n} for n in range(150_000)]
print("filled", flush=True)
time.sleep(1e6)
"""
NODE_SESSIONS = """
class Session { constructor(id) { this.id = id; this.name = 'customer-' + id; this.roles = [id]; } }
const kept = []; for (let i = 0; i < 200000; i++) kept.push(new Session(i));
console.log('filled'); setInterval(() => kept.length, 1e8);
"""


def commands():
    """By runtime, each with what it prints once it has its memory."""
    java, classes = tools.java_workload()
    return {
        "go": ([tools.go_program("1.19", "strip", "steady-go"), "-stacks", "500", "-gc-every", "1s"], None),
        "cpython": (["/usr/bin/python3", "-c", PYTHON_ROWS], "filled"),
        "jvm": ([java, "-Xmx128m", "-Dfirst=64", "-cp", classes, "Filler", "heap", "64", "64"], "filling"),
        "v8": ([shutil.which("node") or shutil.which("nodejs"), "-e", NODE_SESSIONS], "filled"),
        "native": ([tools.sessions(), "100000", "50000", "0"], "filled"),
    }


def readers(pid):
    """CPU seconds of the daemon's reader processes: those that it has reaped, and those that live."""
    fields = fileio.read(f"/proc/{pid}/stat").rsplit(")", 1)[1].split()
    spent = (int(fields[13]) + int(fields[14])) / TICKS_PER_SECOND
    return spent + sum(map(cpu_seconds, children(pid)))


def spent(witness):
    return cpu_seconds(witness.pid), cpu_seconds(witness.pid, "oomw-trend"), readers(witness.pid)


def counted(scrape):
    return {labels["of"]: value for labels, value in scrape.values("oomwitness_trend_cpu_seconds_total")}


def measure(config, options):
    """(daemon, of it the threads that read and judge, readers) in % of a core; all of both from the start on; counted
    for readings after the first seconds, and the readings by result."""
    with Site() as site:
        witness = site.daemon(config)
        time.sleep(START_SECONDS)
        priced, before, since = counted(witness.scrape()), spent(witness), time.monotonic()
        time.sleep(options.seconds)
        after, until = spent(witness), time.monotonic()
        scrape = witness.scrape()
        read = {labels["result"]: int(value) for labels, value in scrape.values("oomwitness_trend_contents_readings_total")}
        read["go"] = int(scrape.sum("oomwitness_trend_readings_total", result="ok"))
        took = until - witness.started_at
        return ([100 * (b - a) / (until - since) for a, b in zip(before, after)], 100 * (after[0] + after[2]) / took,
                {of: 100 * (seconds - priced.get(of, 0)) / (until - since) for of, seconds in counted(scrape).items()}, read)


def main():
    options = arguments(__doc__, seconds=900, processes=50)
    print_conditions()
    with Site() as site:
        by_runtime = commands()
        for runtime, (command, text) in by_runtime.items():
            started = [site.start(command, site.cgroup(f"{runtime}{n}", 512))
                       for n in range(options.processes // len(by_runtime))]
            for work in started if text else []:
                work.wait_output(text)
        time.sleep(5)
        runs = {"with": measure("", options), "without": measure("[trend]\nenabled = false\n", options)}
    print(f"{options.processes} programs, each in a container of 512 MiB; {options.seconds} s after the first "
          f"{START_SECONDS} s. In % of a core.\n")
    table(("trends", "daemon", "of it reads and judges", "readers", "both from the start on", "counted for readings", "readings"),
          [(name, *(f"{share:.3f}" for share in shares), f"{whole:.3f}",
            ", ".join(f"{of} {share:.3f}" for of, share in priced.items()), read)
           for name, (shares, whole, priced, read) in runs.items()])
    _, whole, priced, read = runs["with"]
    print(f"all CPU from the start on, less that without trends: {whole - runs['without'][1]:.3f} % of a core\n")
    bars = Bars()
    bars.require("trends <= 0.1 % of a core", sum(priced.values()) <= 0.1)
    bars.require("what fills programs without a heap profile was read", read.get("ok", 0) > 0)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
