# SPDX-License-Identifier: Apache-2.0
"""Loads of tests/bench/loads: built, run in a cgroup on one CPU, and what each run cost."""
import dataclasses
import os
import signal
import subprocess
import time

from bench_support import HERE, fileio, tools

# The load has one CPU for itself, the tracer and this program the other: what the tracer's own
# threads do is counted beside it, not hidden in the load's cache misses.
LOAD_CPU = max(os.sched_getaffinity(0))
TRACER_CPU = min(os.sched_getaffinity(0))


def built(name):
    source = os.path.join(HERE, "loads", name + ".cc")
    target = os.path.join(tools.CACHE, "bench-loads", name)
    newest = max(os.path.getmtime(f) for f in (source, os.path.join(HERE, "loads", "progress.h")))
    if not os.path.exists(target) or os.path.getmtime(target) < newest:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        subprocess.run(["g++", "-std=c++20", "-O2", "-pthread", "-o", target, source], check=True)
    return target


@dataclasses.dataclass
class Cost:
    cpu_s: float  # user + system, of the load and of all it waited for
    wall_s: float


def _become(argv, procs_file, is_held):
    try:
        fileio.write(procs_file, "0")
        os.sched_setaffinity(0, {LOAD_CPU})
        if is_held:
            os.kill(os.getpid(), signal.SIGSTOP)
        os.execv(argv[0], argv)
    finally:
        os._exit(126)


def run_once(argv, procs_file, on_pid=None):
    """argv to its end on LOAD_CPU in that cgroup. on_pid(pid) is called before it starts."""
    pid = os.fork()
    if pid == 0:
        _become(argv, procs_file, on_pid is not None)
    if on_pid:
        os.waitpid(pid, os.WUNTRACED)
        on_pid(pid)
    started = time.monotonic()
    if on_pid:
        os.kill(pid, signal.SIGCONT)
    _, status, usage = os.wait4(pid, 0)
    if status != 0:
        raise RuntimeError(f"{argv} ended with status {status:#x}")
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - started)


def cpu_seconds(pid, name=""):
    """Time on a CPU of all its threads that live and whose name begins so, to the nanosecond: /proc/PID/stat counts
    ticks of 10 ms."""
    total_ns = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        if not fileio.read(f"/proc/{pid}/task/{thread}/comm").startswith(name):
            continue
        total_ns += int(fileio.read(f"/proc/{pid}/task/{thread}/schedstat").split()[0])
    return total_ns / 1e9


def wait_idle(pid, deadline_s=10.0):
    """Until it used less than 1 ms of CPU in 50: its first inspection of the node is over."""
    until = time.monotonic() + deadline_s
    before = cpu_seconds(pid)
    while time.monotonic() < until:
        time.sleep(0.05)
        now = cpu_seconds(pid)
        if now - before < 0.001:
            return
        before = now


def wait_watched(pid, deadline_s=180):
    """Until its threads that ask v1's kernel to announce levels have none left: a grace period of RCU for each level of
    each limit, once, which is no cost of a container and second. (seconds, CPU seconds)."""
    since, last, before = time.monotonic(), time.monotonic(), -1.0
    while time.monotonic() - last < 2 and time.monotonic() - since < deadline_s:
        time.sleep(0.2)
        now = cpu_seconds(pid, "oomw-levels")
        if now != before:
            last, before = time.monotonic(), now
    return last - since, before
