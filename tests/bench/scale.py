#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""How the tracer's own cost grows with the number of containers on its node.

For each size: that many containers with a limit, one process in each that faults 16 pages a second
and otherwise sleeps; a fresh daemon; once it watches them all its CPU over --seconds, its RSS, its maps
in the kernel. At the largest: how long it took to watch them all, what a scrape takes, and RSS with every
series full, as after 45 minutes.
"""
import hashlib
import os
import statistics
import subprocess
import sys
import time

from bench_support import MIB, Bars, Site, arguments, print_conditions, table
from load_runner import LOAD_CPU, TRACER_CPU, built, cpu_seconds, run_once, wait_idle, wait_watched
from program_stats import map_bytes

from harness import Closeable
from harness.cgroup import MemoryCgroup
from harness.cri import write_bundle
from harness.daemon import Daemon
from harness.metrics import get
from harness.process_state import status_bytes

SIZES = (1, 10, 100, 1000)
PULSE_MS = 1000
SCRAPE_EACH_S = 15
LIMIT_MIB = 64
SCRAPES = 20
EXECS = 1000


class Containers(Closeable):
    """That many cgroups as containerd names them, each with its bundle and its process; gone after close()."""

    def __init__(self, site, count):
        self.parent = MemoryCgroup(f"{site.prefix}kubepods")
        self.host_root = os.path.join(site.scratch, f"host-{count}")
        self.boxes, self.process = [], None
        try:
            for number in range(count):
                self._add(number, hashlib.sha256(f"{site.prefix}{number}".encode()).hexdigest())
            self._start_processes()
        except BaseException:
            self.close()
            raise

    def _add(self, number, container_id):
        write_bundle(self.host_root, container_id, container_name="checkout", container_type="container", sandbox_uid=container_id[:32],
                     sandbox_namespace=f"team-{number % 20}", sandbox_name=f"checkout-{number // 20}-{container_id[:5]}")
        self.boxes.append(MemoryCgroup(container_id, LIMIT_MIB * MIB, self.parent))

    def _start_processes(self):
        self.process = subprocess.Popen(["taskset", "-c", str(LOAD_CPU), built("pulse"), str(PULSE_MS)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdin.write("".join(box.procs_file() + "\n" for box in self.boxes))
        self.process.stdin.close()
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("pulse did not start")

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
        for box in self.boxes:
            box.close()
        self.parent.close()


class Measured:
    """One size, one daemon."""

    def __init__(self, count):
        self.count = count
        self.cpu_ratio = self.rss = self.anon = self.maps = self.exec_cpu_s = self.watched_s = self.watched_cpu_s = 0


def start_daemon(site, name, containers, config=""):
    daemon = Daemon(os.path.join(site.scratch, name), f'host_root = "{containers.host_root}"\n{config}',
                    prefix=["taskset", "-c", str(TRACER_CPU)])
    wait_idle(daemon.pid)
    return daemon


def watch_cpu(daemon, seconds):
    """CPU seconds a second, a scrape every 15 s included."""
    before, since = cpu_seconds(daemon.pid), time.monotonic()
    while time.monotonic() - since < seconds:
        time.sleep(min(SCRAPE_EACH_S, seconds) / 2)
        get(daemon.url("/metrics"))
        time.sleep(min(SCRAPE_EACH_S, seconds) / 2)
    return (cpu_seconds(daemon.pid) - before) / (time.monotonic() - since)


def cpu_of_execs(daemon, containers):
    """The daemon's CPU seconds for one exec and exit: events whose cost must not follow the size."""
    argv = [built("exec_storm"), str(EXECS), "/bin/true"]
    before = cpu_seconds(daemon.pid)
    run_once(argv, containers.boxes[0].procs_file())
    time.sleep(0.3)
    return (cpu_seconds(daemon.pid) - before) / EXECS


def measure(site, containers, seconds):
    found = Measured(len(containers.boxes))
    with start_daemon(site, f"data-{found.count}", containers) as daemon:
        found.watched_s, found.watched_cpu_s = wait_watched(daemon.pid)
        found.cpu_ratio = watch_cpu(daemon, seconds)
        found.rss, found.anon = status_bytes(daemon.pid, "VmRSS"), status_bytes(daemon.pid, "RssAnon")
        found.maps = map_bytes(daemon.pid)
        found.exec_cpu_s = cpu_of_execs(daemon, containers)
    return found


def measure_scrapes(site, containers):
    """(median seconds, bytes, the daemon's CPU seconds) of a scrape."""
    with start_daemon(site, "scrapes", containers) as daemon:
        times, body = [], b""
        before = cpu_seconds(daemon.pid)
        for _ in range(SCRAPES):
            started = time.monotonic()
            _, body = get(daemon.url("/metrics"))
            times.append(time.monotonic() - started)
        return statistics.median(times), len(body), (cpu_seconds(daemon.pid) - before) / SCRAPES


def measure_full(site, containers):
    """RSS when every container has the 256 points that its series may hold, and was scraped. They come a
    hundred times faster than usual."""
    with start_daemon(site, "full", containers, "[sampler]\nslow_seconds = 0.1\n") as daemon:
        until = time.monotonic() + 45
        while time.monotonic() < until:
            time.sleep(5)
            get(daemon.url("/metrics"))
        return status_bytes(daemon.pid, "VmRSS")


def print_sizes(sizes):
    base = sizes[0]
    rows = [(s.count, f"{1e6 * s.cpu_ratio:,.0f} us/s", f"{1e6 * s.cpu_ratio / s.count:,.1f} us/s", f"{s.rss / MIB:.1f} MiB",
             f"{s.anon / MIB:.1f} MiB", "-" if s is base else f"{(s.rss - base.rss) / (s.count - base.count) / 1024:.1f} KiB",
             f"{s.maps / MIB:.1f} MiB", f"{1e6 * s.exec_cpu_s:.0f} us") for s in sizes]
    table(("containers", "CPU", "CPU a container", "RSS", "of it anonymous", "RSS a further container", "BPF maps, in the kernel",
           "CPU of one exec + exit"), rows)


def main():
    options = arguments(__doc__, seconds=20, largest=SIZES[-1])
    print_conditions()
    os.sched_setaffinity(0, {TRACER_CPU})
    sizes = []
    with Site() as site:
        for count in (s for s in SIZES if s <= options.largest):
            with Containers(site, count) as containers:
                sizes.append(measure(site, containers, options.seconds))
                if count == options.largest:
                    scrape_s, scrape_bytes, scrape_cpu_s = measure_scrapes(site, containers)
                    full = measure_full(site, containers)
    largest = sizes[-1]
    print(f"Containers' processes on CPU {LOAD_CPU}, tracer on CPU {TRACER_CPU}; {options.seconds} s each with a scrape every "
          f"{SCRAPE_EACH_S} s.\n")
    print_sizes(sizes)
    table((f"at {largest.count} containers", "measured"), (
        ("until all levels of all limits are registered (cgroup v1)", f"{largest.watched_s:.0f} s"),
        ("CPU of that in the daemon, a container", f"{1e6 * largest.watched_cpu_s / largest.count:.0f} us, once"),
        ("one scrape, at the client", f"{1e3 * scrape_s:.1f} ms"), ("its size", f"{scrape_bytes / 1e6:.2f} MB"),
        ("CPU of it in the daemon", f"{1e3 * scrape_cpu_s:.1f} ms"), ("RSS with every series full", f"{full / 1e6:.1f} MB")))
    bars = Bars()
    if largest.count == SIZES[-1]:  # beside few, what does not grow stands out
        bars.require(f"daemon CPU <= 20 us a container and second at {largest.count}", largest.cpu_ratio <= 20e-6 * largest.count)
    bars.require("RSS <= 40 MB + 8 KB a container, at every size", all(s.rss <= 40e6 + 8e3 * s.count for s in sizes))
    bars.require("the same with every series full", full <= 40e6 + 8e3 * largest.count)
    bars.require("an exec costs no more than twice as much among many containers as beside one",
                 largest.exec_cpu_s <= 2 * sizes[0].exec_cpu_s)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
