# SPDX-License-Identifier: Apache-2.0
"""What the hooks cost a load, by attaching and detaching them while it runs (hook_cost_bench.cc)."""
import os
import signal
import subprocess
import sys

from bench_support import tools
from load_runner import LOAD_CPU, TRACER_CPU
from paired import Chain

SLOT_MS = 100
WARM_UP_S = 0.5
FOREVER = str(10 ** 9)
PAGE_FAULT_HOOK = "on_rss_stat"  # what rests far below limits: WatermarkGate


def binary(name):
    """Of the build folder that the measured oomwitness is in: it holds the same programs."""
    path = os.path.join(os.path.dirname(os.path.dirname(tools.BINARY)), "tests", name)
    if not os.access(path, os.X_OK):
        sys.exit(f"{path} is not there: --binary must be in a build folder that has {name}")
    return path


def measure(bench, load, pairs, *words):
    """A Chain of CPU nanoseconds a unit of work by that program beside the load, and what it says of itself."""
    command = ["nice", "-n", "-20", "taskset", "-c", str(TRACER_CPU), binary(bench), load.progress, str(pairs), str(SLOT_MS), *words]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    chain = Chain()
    for side, units, cpu_ns in (slot.split() for slot in done.stdout.splitlines()):
        (chain.on if side == "on" else chain.off).append(int(cpu_ns) / int(units))
    return chain, done.stderr.strip()


class EndlessLoad:
    """A load of loads/ in a cgroup on LOAD_CPU until it is ended; `progress` has its progress.
    Before all else that runs, so that a slot is the load's."""

    def __init__(self, argv, procs_file, progress):
        with open(progress, "wb") as f:
            f.truncate(4096)
        self.progress = progress
        enter = f'echo $$ > "{procs_file}" && exec nice -n -20 taskset -c {LOAD_CPU} "$@"'
        self._process = subprocess.Popen(["sh", "-c", enter, "sh", *argv], env={**os.environ, "OOMW_PROGRESS": progress},
                                         start_new_session=True)
        self.pid = self._process.pid  # of the load: each program of the command becomes the next

    def __enter__(self):
        try:
            self._process.wait(WARM_UP_S)
        except subprocess.TimeoutExpired:
            return self
        raise RuntimeError(f"the load ended with status {self._process.returncode}")

    def __exit__(self, *_):
        os.killpg(self._process.pid, signal.SIGKILL)  # its own group: the shell of a storm and its child
        self._process.wait()


def chain_of(argv, procs_file, scratch, pairs, without=()):
    """A Chain of CPU nanoseconds a unit of work; programs whose names begin with one of `without` stay off."""
    with EndlessLoad(argv, procs_file, os.path.join(scratch, "progress")) as load:
        return measure("hook_cost_bench", load, pairs, "fentry", *without)[0]
