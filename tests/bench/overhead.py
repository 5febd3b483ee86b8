#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of the tracer to traced programs: the same loads with and without it, in turn.

Each load runs on a CPU of its own in a container two levels deep, pod and container with a limit
each. Its CPU time is the kernel's own account of it, user and system. First the daemon as a whole,
between runs of the load; then its hooks alone, attached and detached ten times a second while the
load runs. A bar is only judged once the noise of empty pairs is below it, by what is in place where the
load runs: far below its limit, so without the hook on page faults where that may rest. --hooks: nothing but that. --scaling: then scale.py, too. --peers: instead, beside other tools.
"""
import os
import statistics
import subprocess
import sys
import time

from bench_support import HERE, MIB, Bars, Site, arguments, fileio, print_conditions, table, tools
import hook_cost
from load_runner import LOAD_CPU, TRACER_CPU, built, cpu_seconds, run_once, wait_idle
from paired import Chain
from peer_headers import fetch_headers
from program_stats import ProgramRuns

from harness.cgroup import MemoryCgroup
from harness.daemon import Daemon
from harness.wait import eventually

VM_KERNEL = "6.1"
RUNS = 12  # a side, 40 to 130 ms each; the cheapest quarter counts: what other tenants of the machine do only adds
MIN_PAIRS = 8
HOOK_PAIRS = 160  # 45 s with what is around it
# Those that have bars: the noise floor of 110 pairs was 1.3 % where the bar is 0.5, and it shrinks with their root.
AT_REST_PAIRS = 800
HOLD = "page_fault_hook_hold_seconds = 1\n"  # ten by default: no bench waits for that at every start


class Load:
    """argv, the word of it that sets how often, and, if there is one, the bar of its CPU time."""

    def __init__(self, name, argv, rounds, limit_mib=256, bar=None):
        self.name, self.argv, self.rounds, self.limit_mib, self.bar = name, argv, rounds, limit_mib, bar
        self.cpu, self.wall = Chain(), Chain()
        self.hooks = self.hooks_at_rest = None  # Chains of hook_cost, for those with a bar
        self.daemon_cpu_s = 0.0
        self.loads_cpu_s = 0.0  # beside that
        self.box = None

    def is_resolved(self):
        """Enough is known: the noise is below half of what there is to judge."""
        floor = self.cpu.floor()
        return self.cpu.pairs() >= MIN_PAIRS and floor is not None and (self.bar is None or floor <= self.bar / 2)

    def measure(self):
        runs = [run_once(self.argv, self.box.procs_file()) for _ in range(RUNS)]
        return cheapest_quarter(r.cpu_s for r in runs), cheapest_quarter(r.wall_s for r in runs), sum(r.cpu_s for r in runs)


def cheapest_quarter(values):
    """Their mean: steadier than the cheapest one alone."""
    ordered = sorted(values)
    return statistics.mean(ordered[:max(1, len(ordered) // 4)])


def make_loads(site, size):
    def times(count):
        return str(max(1, round(count * size)))

    data = os.path.join(site.scratch, "load")
    once, requests, execs = times(1), times(4_000), times(40)
    return [Load("page faults", [built("fault_storm"), "64", once], once, bar=0.02),
            Load("page faults, 5 % to 90 % of the limit", [built("fault_storm"), "216", once], once, limit_mib=240),
            Load("reclaim of page cache", [built("reclaim_storm"), data, "256", once], once, limit_mib=64),
            Load("mixed service", [built("mixed_service"), data + "-mixed", requests], requests, bar=0.005),
            Load("fork and exec", [built("exec_storm"), execs, "/bin/true"], execs, bar=0.01)]


def give_boxes(site, loads):
    """Each its container: a cgroup with a limit in a pod with a limit."""
    for number, load in enumerate(loads):
        pod = site.cgroup(f"pod{number}", 2 * load.limit_mib)
        load.box = site.enter_context(MemoryCgroup("container", load.limit_mib * MIB, pod))


def start_daemon(site, config=""):
    daemon = Daemon(os.path.join(site.scratch, "data"), "[kernel]\n" + HOLD + config, prefix=["taskset", "-c", str(TRACER_CPU)])
    eventually(lambda: daemon.scrape().sum("oomwitness_page_fault_hook_attached") == 0, "the hook on page faults to rest")
    wait_idle(daemon.pid)
    return daemon


def measure_off(loads):
    for load in loads:
        cpu, wall, _ = load.measure()
        load.cpu.off.append(cpu)
        load.wall.off.append(wall)


def measure_on(site, loads):
    with start_daemon(site) as daemon:
        for load in loads:
            before = cpu_seconds(daemon.pid)
            cpu, wall, total = load.measure()
            load.cpu.on.append(cpu)
            load.wall.on.append(wall)
            load.daemon_cpu_s += cpu_seconds(daemon.pid) - before
            load.loads_cpu_s += total


def run_pairs(site, loads, seconds):
    """Until the noise of each load is low enough, or the time is over."""
    until = time.monotonic() + seconds
    open_loads = list(loads)
    measure_off(open_loads)
    while open_loads:
        measure_on(site, open_loads)
        measure_off(open_loads)
        is_over = time.monotonic() >= until
        open_loads = [l for l in open_loads if not is_over and not l.is_resolved()]


def run_with_statistics(site, loads):
    """{load: (wall seconds, ProgramRuns)}: apart from the rest, since counting costs two clock reads a call."""
    found = {}
    with start_daemon(site, "run_time_stats = true\n") as daemon:
        for load in loads:
            before = ProgramRuns.of(daemon.pid)
            started = time.monotonic()
            for _ in range(RUNS):
                run_once(load.argv, load.box.procs_file())
            found[load.name] = (time.monotonic() - started, ProgramRuns.of(daemon.pid).since(before))
    return found


def signed(ratio):
    return f"{100 * (ratio - 1):+.2f} %"


def print_costs(loads):
    rows = []
    for load in loads:
        low, high = load.cpu.effect_interval()
        floor = load.cpu.floor()
        rows.append((load.name, signed(load.cpu.effect()), f"{signed(low)} to {signed(high)}",
                     "too few pairs" if floor is None else f"{100 * floor:.2f} %", signed(load.wall.effect()),
                     load.cpu.pairs(), f"{100 * load.daemon_cpu_s / load.loads_cpu_s:.2f} %"))
    table(("load", "its CPU time, on / off", "95 %", "noise floor", "wall time", "pairs", "daemon's own CPU / load's"), rows)


def measure_hooks(site, loads):
    for load in loads:
        endless = [hook_cost.FOREVER if word == load.rounds else word for word in load.argv]
        where = (endless, load.box.procs_file(), site.scratch)
        load.hooks = hook_cost.chain_of(*where, HOOK_PAIRS)
        load.hooks_at_rest = hook_cost.chain_of(*where, AT_REST_PAIRS, without=[hook_cost.PAGE_FAULT_HOOK])


def print_hooks(loads):
    rows = []
    for load in loads:
        for which, chain in (("all", load.hooks), ("that on page faults at rest", load.hooks_at_rest)):
            low, high = chain.effect_interval()
            rows.append((load.name, which, signed(chain.effect()), f"{signed(low)} to {signed(high)}",
                         f"{100 * chain.floor():.2f} %", chain.pairs()))
    print(f"The hooks alone, attached and detached in turn while the load runs, {hook_cost.SLOT_MS} ms a side:\n")
    table(("load", "hooks", "CPU time of a unit of its work, on / off", "95 %", "noise floor", "pairs"), rows)


def print_programs(found):
    rows = []
    for name, (wall_s, runs) in found.items():
        for program, (count, ns) in sorted(runs.items(), key=lambda i: -i[1][1]):
            if count >= 100:
                rows.append((name, program, f"{count / wall_s:,.0f}", f"{ns / count:.0f}", f"{100 * ns / 1e9 / wall_s:.2f} %"))
    print("Per program, with the kernel's run-time statistics on (which themselves read as 45 to 50 ns an event):\n")
    table(("load", "program", "events / s", "ns / event", "of the load's time"), rows)


def measure_daemon(site, loads, seconds):
    run_pairs(site, loads, seconds)
    found = run_with_statistics(site, loads)
    print(f"Loads on CPU {LOAD_CPU}, tracer and this program on CPU {TRACER_CPU}; {RUNS} runs a side, the cheapest quarter counts; "
          "medians over pairs.\n")
    print_costs(loads)
    print_programs(found)


def judge(bars, load):
    floor, bar = load.hooks_at_rest.floor(), f"{load.name}: <= {100 * load.bar:g} % CPU"
    if floor is None or floor > load.bar:
        print(f"not resolved  {bar}: the noise floor is above the bar; more --seconds, or a quieter machine")
    else:
        bars.require(bar, load.hooks_at_rest.effect() - 1 <= load.bar)


def peers():
    """Beside other tools: what runs here, then in a VM what needs kprobes."""
    script = os.path.join(HERE, "overhead_peers.py")
    binary = ["--binary", tools.BINARY]
    print("Beside other tools, on this kernel:\n", flush=True)
    here = subprocess.run([script, *binary]).returncode
    kernel = subprocess.run([os.path.join(tools.TREE, "tests/vm/kernel.sh"), VM_KERNEL], capture_output=True, text=True)
    if kernel.returncode != 0:
        print(f"In a VM: skipped: {kernel.stderr.strip()}")
        return here
    fetch_headers(fileio.read(os.path.join(kernel.stdout.strip(), "release")).strip())
    print(f"Beside other tools, in a VM ({VM_KERNEL}, its CPUs emulated: only ratios within this table say something):\n", flush=True)
    run = os.path.join(tools.TREE, "tests/vm/run.sh")
    return here or subprocess.run([run, VM_KERNEL, script, *binary, "--pairs", "2", "--size", "0.2"]).returncode


def scaling(options):
    print("\nHow it grows:\n", flush=True)
    check = ["--check"] if options.check else []
    return subprocess.run([os.path.join(HERE, "scale.py"), "--binary", tools.BINARY, *check]).returncode


def main():
    options = arguments(__doc__, seconds=240, size=1.0, flags=("hooks", "peers", "scaling"))
    if options.peers:
        return peers()
    print_conditions()
    os.sched_setaffinity(0, {TRACER_CPU})
    with Site() as site:
        loads = make_loads(site, options.size)
        give_boxes(site, loads)
        barred = [load for load in loads if load.bar is not None]
        if not options.hooks:
            measure_daemon(site, loads, options.seconds)
        measure_hooks(site, barred)
    print_hooks(barred)
    bars = Bars()
    for load in barred:
        judge(bars, load)
    status = bars.finish(options)
    grown = scaling(options) if options.scaling else 0
    return status or grown


if __name__ == "__main__":
    sys.exit(main())
