#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The cost of other tools on the loads of overhead.py, beside ours, on the kernel it runs on.

`overhead.py --peers` runs it here and, for what needs kprobes, in a VM: there a CPU is emulated, so
only the ratios of that one table say something. A tool that does not run is listed with its reason.
"""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

from bench_support import Site, arguments, fileio, print_conditions
from load_runner import TRACER_CPU, run_once
from overhead import give_boxes, make_loads, signed, start_daemon
from paired import Chain
from peer_headers import use_headers

READY_S = 120  # compiling a program takes a minute on an emulated CPU


class CannotRun(Exception):
    pass


class Tool:
    """Another project's tool: its command, and its output once it listens. {pid}: the load's."""

    def __init__(self, name, argv, says, package):
        self.name, self.argv, self.says, self.package = name, argv, says, package
        self.wants_pid = any("{pid}" in a for a in argv)

    @contextlib.contextmanager
    def running(self, site, pid=None):
        program = shutil.which(self.argv[0]) or shutil.which("/usr/sbin/" + self.argv[0])
        if program is None:
            raise CannotRun(f"not installed: apt-get install {self.package}")
        log = os.path.join(site.scratch, "peer.log")
        # Line by line: into a file, "Tracing ..." would otherwise come at its end.
        argv = ["taskset", "-c", str(TRACER_CPU), "stdbuf", "-oL", program,
                *(a.format(pid=pid, scratch=site.scratch) for a in self.argv[1:])]
        with open(log, "wb") as out:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                       env=dict(os.environ, PYTHONUNBUFFERED="1"))
        try:
            self._wait_ready(process, log)
            yield
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _wait_ready(self, process, log):
        until = time.monotonic() + READY_S
        while time.monotonic() < until:
            text = fileio.read(log, errors="replace")
            if process.poll() is not None:
                raise CannotRun(reason_in(text))
            if self.says in text:
                time.sleep(1 if self.says else 2)  # what is said first is sometimes attached last
                if process.poll() is None:
                    return
            time.sleep(0.05)
        raise CannotRun(f"not ready within {READY_S} s")


def reason_in(text):
    """The line most like a reason in the output of a tool that gave up."""
    lines = [l.strip() for l in text.splitlines() if l.strip()]
    telling = [l for l in lines if any(w in l.lower() for w in ("error", "failed", "cannot", "unable", "not permitted"))]
    return (telling or lines or ["ended without a word"])[0].replace("|", "/")[:160]


class Ours:
    name, wants_pid = "oomwitness", False

    @contextlib.contextmanager
    def running(self, site, pid=None):
        with start_daemon(site):
            yield


def libc_of(program):
    out = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    return next(l.split("=>")[1].split()[0] for l in out.splitlines() if "libc.so" in l)


def all_tools(loads):
    libc = libc_of(loads[0].argv[0])
    return [Ours(),
            Tool("perf record -e page-faults -g -a", ["perf", "record", "-e", "page-faults", "-g", "-a", "-o", "{scratch}/perf"],
                 "", "linux-perf"),
            Tool("libbpf-tools oomkill", ["oomkill"], "Tracing OOM", "libbpf-tools"),
            Tool("bpftrace oomkill.bt", ["bpftrace", "/usr/sbin/oomkill.bt"], "Tracing oom", "bpftrace"),
            Tool("bcc memleak -p LOAD", ["memleak-bpfcc", "-O", libc, "-p", "{pid}", "600"], "Attaching to pid", "bpfcc-tools")]


def measure_together(site, loads, tool, pairs):
    """Off, on, off, ...: one start of the tool serves all loads."""
    chains = [Chain() for _ in loads]

    def run_all(side):
        for load, chain in zip(loads, chains):
            getattr(chain, side).append(run_once(load.argv, load.box.procs_file()).cpu_s)

    run_all("off")
    for _ in range(pairs):
        with tool.running(site):
            run_all("on")
        run_all("off")
    return chains


def measure_attached(site, load, tool):
    """One pair: the tool wants to know the process, so the load waits for it."""
    chain = Chain()
    chain.off.append(run_once(load.argv, load.box.procs_file()).cpu_s)
    with contextlib.ExitStack() as stack:
        attach = lambda pid: stack.enter_context(tool.running(site, pid))  # noqa: E731
        chain.on.append(run_once(load.argv, load.box.procs_file(), attach).cpu_s)
    chain.off.append(run_once(load.argv, load.box.procs_file()).cpu_s)
    return chain


def row_of(site, loads, tool, pairs):
    if tool.wants_pid:  # one that traces malloc: the fault storm has none
        return (tool.name, "-", signed(measure_attached(site, loads[-1], tool).effect()), "one pair")
    chains = measure_together(site, loads, tool, pairs)
    floors = [c.floor() for c in chains]
    return (tool.name, *(signed(c.effect()) for c in chains),
            " / ".join("-" if f is None else f"{100 * f:.1f} %" for f in floors))


def print_rows(site, loads, pairs):
    """Each as soon as it is known: on an emulated CPU one takes a minute."""
    refused = []
    header = ("tool", *(f"{l.name}: CPU time, on / off" for l in loads), "noise floors")
    print("| " + " | ".join(header) + " |\n" + "|" + "---|" * len(header), flush=True)
    for tool in all_tools(loads):
        try:
            print("| " + " | ".join(row_of(site, loads, tool, pairs)) + " |", flush=True)
        except CannotRun as why:
            refused.append(f"{tool.name} does not run here: {why}")
    print("\n" + "\n".join(refused), flush=True)


def main():
    options = arguments(__doc__, pairs=6, size=1.0)
    print_conditions()
    use_headers()
    os.sched_setaffinity(0, {TRACER_CPU})
    with Site() as site:
        loads = [l for l in make_loads(site, options.size) if l.name in ("page faults", "mixed service")]
        give_boxes(site, loads)
        print_rows(site, loads, options.pairs)


if __name__ == "__main__":
    sys.exit(main())
