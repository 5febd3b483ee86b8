#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kills during rolling updates of the DaemonSet: is each counted, and an incident, and none twice?

`kubectl rollout restart` three times; meanwhile pods are killed at a steady pace, most of them children of containers that live
on. What the kernel logged is compared with incidents and counters by pod and pid.
"""
import collections
import glob
import os
import sys
import threading
import time

from bench_support import Bars, arguments, fileio, print_conditions, table
from cluster_site import ClusterSite, objects
from kube.witness import NAMESPACE

LOOPS = 10  # containers whose children are killed
LIMIT_MIB = 32
# The next child for each gate that opens; it is killed, and the shell goes on.
_LOOP = "n=1; while :; do until [ -e /gate/{name}.$n ]; do sleep 0.1; done; {hog} --hold-mb 4 --rate-mb-s 200; n=$((n+1)); done"


def loop_pod(site, name):
    mount = {"name": "gate", "mountPath": "/gate", "readOnly": True}
    script = _LOOP.format(name=name, hog=objects.HOG)
    looping = objects.container(name, [objects.SHELL, "-c", script], LIMIT_MIB, volumeMounts=[mount])
    return objects.pod(name, looping, volumes=[{"name": "gate", "hostPath": {"path": site.gate.folder}}])


class DaemonWatch(threading.Thread):
    """When no oomwitness of the node ran, ten times a second."""

    def __init__(self, node):
        super().__init__(daemon=True)
        self._cgroup = node.cgroup
        self.without_s = []  # how long each time
        self.is_over = False

    def _runs(self):
        for path in glob.glob("/proc/[0-9]*/comm"):
            try:
                if fileio.read(path, errors="replace").strip() != "oomwitness":
                    continue
                if self._cgroup + "/" in fileio.read(os.path.join(os.path.dirname(path), "cgroup")):
                    return True
            except OSError:
                continue
        return False

    def run(self):
        since = None
        while not self.is_over:
            now = time.monotonic()
            if self._runs():
                if since:
                    self.without_s.append(now - since)
                since = None
            else:
                since = since or now
            time.sleep(0.1)


def create_pods(site, kills):
    """What is to be let go, in order: (name, life), each container in turn."""
    loops = [f"loop-{n}" for n in range(LOOPS)]
    whole = [f"whole-{n}" for n in range(kills // 10)]
    site.create(*(loop_pod(site, name) for name in loops), *(site.gate.pod(name) for name in whole))
    names = [*loops, *whole]
    site.wait(lambda: (lambda pods: len(pods) == len(names) and all(p["status"]["phase"] == "Running" for p in pods))(site.pods()),
              "all pods run", 180)
    rounds = -(-(kills - 2 * len(whole)) // LOOPS)
    of_loops = [(name, life) for life in range(1, rounds + 1) for name in loops][:kills - 2 * len(whole)]
    of_whole = [(name, life) for life in (1, 2) for name in whole]
    step = len(of_loops) / len(of_whole) if of_whole else 1
    placed = [(i, kill) for i, kill in enumerate(of_loops)] + [(i * step, kill) for i, kill in enumerate(of_whole)]
    return [kill for _, kill in sorted(placed, key=lambda one: one[0])]


def update(site, kills, pace_s):
    """Lets them go during one update, and a little longer where that is quick."""
    site.node.kubectl("rollout", "restart", "--namespace", NAMESPACE, "daemonset/oomwitness")
    for name, life in kills:
        site.gate.open(name, life)
        killed_by_kernel(site)  # its log is a ring, and short
        time.sleep(pace_s)
    site.witness.wait_rolled_out()


def killed_by_kernel(site):
    """Pids of our programs, by their names: no other test's are called so."""
    return [pid for program in (objects.HOG, objects.LEAK) for pid in site.kernel_log.killed(program.strip("/"))]


def describe_missing(site, kernel, incidents):
    """A line for each kill of the kernel's log without an incident under its names: the log's line, and where else it is."""
    known = {v["pid"] for i in incidents for v in i["victims"]}
    paths = {pid: d.victim_path for d in site.kernel_log.decisions("/", kernel) for pid in d.killed}
    everyones = site.witness.incidents()
    for pid in kernel:
        if pid in known:
            continue
        elsewhere = [(i["id"], i["container"]["cgroup_path"], i["pod"], i["notes"]) for i in everyones
                     if any(v["pid"] == pid for v in i["victims"])]
        yield f"  pid {pid}, by the log in {paths.get(pid) or 'no cgroup (rate limit)'}: {elsewhere or 'in no incident'}"


def main():
    options = arguments(__doc__, kills=100, updates=3, pace_ms=550)
    print_conditions()
    with ClusterSite() as site:
        order = create_pods(site, options.kills)
        watch = DaemonWatch(site.node)
        watch.start()
        share = -(-len(order) // options.updates)
        for number in range(options.updates):
            update(site, order[number * share:(number + 1) * share], options.pace_ms / 1000)
            print(f"update {number + 1}: kernel {len(killed_by_kernel(site))}, incidents {len(site.incidents())}", flush=True)
        site.wait(lambda: len(killed_by_kernel(site)) >= len(order), "the kernel's kills")
        site.wait(lambda: sum(len(i["victims"]) for i in site.incidents()) >= len(order), lambda: "incidents of all", 30)
        site.wait(lambda: site.counted() >= len(order), lambda: f"counts of all, {site.counted()}", 30)
        watch.is_over = True
        watch.join()
        kernel, incidents, counted = killed_by_kernel(site), site.incidents(), site.counted()
        missing = list(describe_missing(site, kernel, incidents))
        scrape = site.witness.scrape()
        others = {name: int(scrape.sum(f"oomwitness_{name}_total")) for name in
                  ("kills_seen_afterwards", "kernel_oom_kills_unobserved", "oom_kills_merged")}
    afterwards = [i for i in incidents if any("afterwards" in note for note in i["notes"])]
    seen = [i for i in incidents if i not in afterwards]
    captured = [i for i in seen if i["captures"]]
    victims = collections.Counter((i["pod"].get("uid"), v["pid"]) for i in incidents for v in i["victims"])
    named = [i for i in incidents if i["pod"]["name"] and i["pod"]["namespace"] and i["container"]["name"]]
    twice = [who for who, times in victims.items() if times > 1]
    gaps = ", ".join(f"{gap:.1f}" for gap in watch.without_s)
    print(f"\nNo oomwitness ran for {gaps or 'no'} s.\n")
    table(("kills by the kernel's log", "oom_kills_total", "incidents", "named", "seen as they happened", "afterwards", "two incidents"),
          [(len(kernel), counted, len(incidents), len(named), len(seen), len(afterwards), len(twice))])
    print("\n".join(missing), f"\nThe last daemon, of all on this machine: {others}\n")
    bars = Bars()
    bars.require(f"the kernel killed {options.kills}: {len(kernel)}", len(kernel) == options.kills)
    bars.require("each counted", counted == len(kernel))
    bars.require("each in an incident, none in two", len(incidents) == len(kernel) and not twice
                 and sorted(pid for _, pid in victims) == sorted(kernel))
    bars.require(f"each named with namespace, pod and container: {len(named)}", len(named) == len(kernel))
    bars.require(f"who was seen afterwards is said to be, and has no captures; of the others {len(captured)} have an attempt",
                 not any(i["captures"] for i in afterwards))
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
