#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What it costs to know a Go program before it is killed: CPU of the daemon's lookers for each new executable, each
further process of a known one, and each process that is not Go."""
import contextlib
import os
import shutil
import subprocess
import sys
import time

from bench_support import Bars, Site, arguments, print_conditions, table, tools
from load_runner import cpu_seconds

INSPECTOR = "oomw-inspect"
NEW_FILE_BAR_MS, FURTHER_BAR_MS = 5, 0.2


class Processes(contextlib.ExitStack):
    """Idle processes, ended by their pids."""

    def start(self, argv):
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.callback(process.wait)
        self.callback(process.stdin.close)
        self.callback(process.kill)


def settle(pid):
    """Until the inspectors have been idle for a while (once a second they check for exited processes); their time."""
    last = cpu_seconds(pid, INSPECTOR)
    quiet_since = time.monotonic()
    while time.monotonic() - quiet_since < 0.4:
        time.sleep(0.05)
        now = cpu_seconds(pid, INSPECTOR)
        if now - last > 200e-6:
            quiet_since = time.monotonic()
        last = now
    if last == 0:
        raise AssertionError(f"no thread {INSPECTOR} of the daemon has done anything")
    return last


def cost_ms(witness, programs):
    """Of each of these started processes."""
    before = settle(witness.pid)
    with Processes() as processes:
        for argv in programs:
            processes.start(argv)
        after = settle(witness.pid)
    return (after - before) / len(programs) * 1e3


def known(witness):
    return witness.scrape().sum("oomwitness_go_processes")


def measure(site, witness, program, flags, copies, processes):
    """(ms for a new file, ms for a further process)."""
    files = [os.path.join(site.scratch, f"{os.path.basename(program)}.{n}") for n in range(copies)]
    for target in files:
        shutil.copy(program, target)
    new = cost_ms(witness, [[f, *flags(n)] for n, f in enumerate(files)])
    for target in files:
        os.unlink(target)
    with Processes() as first:
        first.start([program, *flags(copies)])
        settle(witness.pid)
        return new, cost_ms(witness, [[program, *flags(copies + 1 + n)] for n in range(processes)])


def programs_of(site, options):
    """(what, path, flags of the nth process that lets it idle, new files, further processes)."""
    for variant, what in (("strip", "stripped"), ("plain", "with symbols")):
        idle = lambda n: ["-listen", "", "-limit-mb", "1"]
        yield f"leaky-go, {what}", tools.go_program("1.26", variant), idle, options.copies, options.processes
    large = tools.find_program("prometheus")
    if large:
        empty = os.path.join(site.scratch, "prometheus.yml")
        open(empty, "w").close()
        flags = lambda n: [f"--config.file={empty}", f"--storage.tsdb.path={site.scratch}/tsdb{n}",
                           "--web.listen-address=127.0.0.1:0"]
        yield f"prometheus, {os.path.getsize(large) >> 20} MiB", large, flags, 5, 30


def main():
    options = arguments(__doc__, copies=20, processes=200)
    print_conditions()
    bars, rows = Bars(), []
    with Site() as site:
        witness = site.daemon()
        other = cost_ms(witness, [["/bin/cat"]] * options.processes)
        for what, *how in programs_of(site, options):
            rows.append((what, *measure(site, witness, *how)))
    table(("program", "new file", "further process"), [(w, f"{n:.2f} ms", f"{f:.3f} ms") for w, n, f in rows])
    print(f"A process that is not Go: {other:.3f} ms.\n")
    for what, new, further in rows:
        bars.require(f"{what}: new file < {NEW_FILE_BAR_MS} ms", new < NEW_FILE_BAR_MS)
        bars.require(f"{what}: further process < {FURTHER_BAR_MS} ms", further < FURTHER_BAR_MS)
    bars.require(f"not Go < {FURTHER_BAR_MS} ms", other < FURTHER_BAR_MS)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
