#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kill -> incident readable on disk, and kill -> counter visible at /metrics.

The kill's time is the incident's own (mark_victim's CLOCK_MONOTONIC as wall time); the incident's
is inotify's IN_MOVED_TO of its directory; the counter's is the end of the first scrape, one every
5 ms, that shows it.

--api-dead: each victim in a pod of its own, whose names only the runtime's bundle tells, while the daemon
is told of a Kubernetes API server where nobody listens: kill -> incident with pod, namespace and container.
"""
import os
import sys
import threading
import time

from bench_support import MIB, Bars, Site, arguments, fileio, percentile, print_conditions, table, tools
from cri_pod import CriPod
from harness.incident_watch import IncidentWatch

from harness.api_server import ApiServer
from harness.text_time import unix
from harness.wait import eventually

LIMIT_MIB = 64
CONFIG = "[triggers]\ncooldown_seconds = 0\nbudget = 1000\n[incidents]\nkeep_count = 10000\nrepeats_per_minute = 0\n"


class CounterWatch(threading.Thread):
    """When each value of the counter was first seen."""

    def __init__(self, daemon, prefix):
        super().__init__(daemon=True)
        self.witness, self.prefix = daemon, prefix
        self.first_seen = {}
        self.is_over = False

    def run(self):
        known = 0
        while not self.is_over:
            value = int(self.witness.scrape().kills(self.prefix))
            now = time.time()
            for step in range(known + 1, value + 1):
                self.first_seen[step] = now
            known = value
            time.sleep(0.005)


class NameWatch(IncidentWatch):
    """Also keeps each incident as it was written first: amendments must not lend it names."""

    def __init__(self, directory):
        self.first = {}
        self._directory = directory
        super().__init__(directory)

    def on_first(self, name):
        try:
            self.first[name] = fileio.read_json(os.path.join(self._directory, name, "incident.json"))
        except FileNotFoundError:  # amended in this very moment
            self.first[name] = None


def run_kills(site, kills):
    box = site.cgroup("latency", LIMIT_MIB)
    for number in range(1, kills + 1):
        work = site.start([tools.leaky_go(), "-rate", "200"], box)
        work.wait_killed()
        work.close()
        eventually(lambda: box.kernel_kills() == number, "the kernel counts the kill")


def own_incidents(site, witness):
    return [i for i in witness.incidents() if i["container"]["cgroup_path"].startswith("/" + site.prefix)]


def kill_pods(site, host_root, kills):
    """One pod after the other; it goes as soon as its victim is dead, as a runtime would have it."""
    node = site.cgroup("node")
    pods = []
    for number in range(1, kills + 1):
        with CriPod(host_root, node, number, LIMIT_MIB * MIB) as pod:
            work = site.start([tools.leaky_go(), "-rate", "200"], pod.box)
            work.wait_killed()
            work.close()
        pods.append(pod)
    return pods


def wait_and_sort(site, witness, kills):
    eventually(lambda: len(own_incidents(site, witness)) >= kills, "every incident")
    return sorted(own_incidents(site, witness), key=lambda i: i["time"])


def row(name, seconds):
    return (name, *(f"{percentile(seconds, p) * 1e3:.1f}" for p in (50, 90, 99, 100)))


HEADER = ("kill -> ... (ms)", "p50", "p90", "p99", "max")


def with_a_dead_api(options):
    with Site() as site:
        host_root = os.path.join(site.scratch, "host")
        api = ApiServer(site.scratch)  # not started
        witness = site.daemon(f'host_root = "{host_root}"\n' + CONFIG + api.config())
        watch = NameWatch(os.path.join(witness.data_dir, "incidents"))
        pods = kill_pods(site, host_root, options.kills)
        incidents = wait_and_sort(site, witness, options.kills)
        on_disk = [watch.seen[os.path.basename(i["_dir"])] - unix(i["time"]) for i in incidents]
        eventually(lambda: all(os.path.basename(i["_dir"]) in watch.first for i in incidents), "each read as it was written first")
        firsts = [watch.first[os.path.basename(i["_dir"])] for i in incidents]
        named = sum(pod.is_named_in(first) for pod in pods for first in firsts if first)
        refused = witness.scrape().values("oomwitness_kubernetes_errors_total", kind="connect")[0][1]
    print(f"{len(incidents)} kills of leaky-go at 200 MB/s, each in a pod of its own of {LIMIT_MIB} MiB that is removed at once, one after "
          f"the other; the API server refused {refused:.0f} connections meanwhile.\n")
    table(HEADER, [row("incident with pod names readable on disk", on_disk)])
    bars = Bars()
    bars.require(f"each first writing names its pod, namespace and container: {named} of {options.kills}", named == options.kills)
    bars.require("the API server was asked in vain", refused > 0)
    bars.require("incident with pod names: p99 <= 100 ms", percentile(on_disk, 99) <= 0.100)
    return bars.finish(options)


def with_one_container(options):
    with Site() as site:
        witness = site.daemon(CONFIG)
        watch = IncidentWatch(os.path.join(witness.data_dir, "incidents"))
        counter = CounterWatch(witness, site.prefix)
        counter.start()
        run_kills(site, options.kills)
        incidents = wait_and_sort(site, witness, options.kills)
        eventually(lambda: len(counter.first_seen) >= options.kills, "every count")
        counter.is_over = True
        counter.join()
        on_disk = [watch.seen[os.path.basename(i["_dir"])] - unix(i["time"]) for i in incidents]
        counted = [counter.first_seen[n + 1] - unix(i["time"]) for n, i in enumerate(incidents)]
        captured = sum(any(c["result"] == "ok" for c in i["captures"]) for i in incidents)
    print(f"{len(incidents)} kills of leaky-go at 200 MB/s against {LIMIT_MIB} MiB, one after the other, "
          f"{captured} of them with a capture.\n")
    table(HEADER, [row("incident readable on disk", on_disk), row("counter visible at /metrics", counted)])
    bars = Bars()
    bars.require("incident on disk: p99 < 50 ms", percentile(on_disk, 99) < 0.050)
    bars.require("counter visible: p99 < 100 ms", percentile(counted, 99) < 0.100)
    return bars.finish(options)


def main():
    options = arguments(__doc__, flags=("api-dead",), kills=200)
    print_conditions()
    return with_a_dead_api(options) if options.api_dead else with_one_container(options)


if __name__ == "__main__":
    sys.exit(main())
