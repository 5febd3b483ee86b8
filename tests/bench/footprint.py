#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the tracer costs a node: memory with its BPF maps, idle CPU with 100 cgroups, start time."""
import os
import subprocess
import sys
import time

from bench_support import MIB, Bars, Site, arguments, print_conditions, table, tools
from daemonset_memory import request_and_limit
from load_runner import cpu_seconds, wait_watched
from program_stats import map_bytes

from harness.daemon import Daemon
from harness.process_state import status_bytes


def bpf_map_bytes(pid):
    """None without bpftool."""
    try:
        return map_bytes(pid)
    except (OSError, subprocess.CalledProcessError, ValueError):
        return None


def has_link(pid):
    """The first program is attached: its link is an open file of the daemon."""
    try:
        return any("bpf_link" in os.readlink(f"/proc/{pid}/fd/{fd}") or "bpf-link" in os.readlink(f"/proc/{pid}/fd/{fd}")
                   or "raw_tracepoint" in os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd"))
    except FileNotFoundError:
        return False


def start_times(site, number):
    witness = Daemon(os.path.join(site.scratch, f"start{number}"), wait_ready=False)
    try:
        attached = ready = None
        while ready is None and time.monotonic() - witness.started_at < 30:
            if attached is None and has_link(witness.pid):
                attached = time.monotonic() - witness.started_at
            if witness.is_ready():
                ready = time.monotonic() - witness.started_at
            time.sleep(0.001)
        return attached, ready
    finally:
        witness.close()


def main():
    options = arguments(__doc__, seconds=60, cgroups=100)
    print_conditions()
    with Site() as site:
        starts = [start_times(site, n) for n in range(5)]
        for number in range(options.cgroups):
            box = site.cgroup(f"idle{number}", 64)
            site.start([tools.memhog(), "--hold-mb", "8"], box).wait_output("ready")
        witness = site.daemon()
        _, levels_cpu_s = wait_watched(witness.pid)  # like the first walk over the tree start-up, not idling
        before, since = cpu_seconds(witness.pid), time.monotonic()
        time.sleep(options.seconds)
        idle = (cpu_seconds(witness.pid) - before) / (time.monotonic() - since)
        resident, maps = status_bytes(witness.pid, "VmRSS"), bpf_map_bytes(witness.pid)
    attached = max((a for a, _ in starts if a is not None), default=None)
    print(f"{options.cgroups} cgroups with one sleeping process each, idle for {options.seconds} s, 5 starts.\n")
    table(("what", "measured"), (
        ("RSS", f"{resident / MIB:.1f} MiB"),
        ("BPF maps and ring buffer in the kernel", "not known" if maps is None else f"{maps / MIB:.1f} MiB"),
        ("idle CPU", f"{100 * idle:.3f} % of a core"),
        ("before that, once: to register all levels of all limits (cgroup v1)", f"{1e3 * levels_cpu_s:.0f} ms of CPU"),
        ("start -> first hook attached, worst of 5", "never seen" if attached is None else f"{attached * 1e3:.0f} ms"),
        ("start -> ready, worst of 5", f"{max(r for _, r in starts) * 1e3:.0f} ms")))
    bars = Bars()
    bars.require("RSS and BPF maps <= 40 MB", resident + (maps or 0) <= 40e6)
    bars.require("RSS and BPF maps within what the DaemonSet asks for", resident + (maps or 0) <= request_and_limit()[0])
    bars.require("idle CPU <= 0.1 % of a core", idle <= 0.001)
    bars.require("first hook attached < 1 s", attached is not None and attached < 1)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
