#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kills of ordinary pods of every kind under a real kubelet: is each named in full, is its limit whose it is, and is the verdict
that of the same program in a plain container?

Waves of one pod of each kind, each wave with another program. The plain container is containerd's alone: same image, program and
limit, no pod, no kubelet, in the same daemon; three a program, and what most of them were judged is what is expected.
"""
import collections
import sys

from bench_support import MIB, Bars, arguments, print_conditions, table
from cluster_kinds import LIMIT_MIB, PROGRAMS, Wave
from cluster_site import ClusterSite, objects

PLAIN = 3
KILL_DEADLINE_S = 150


class Plain:
    """Containers without a pod; `cause` of each program."""

    def __init__(self, site):
        self._site = site
        self.causes = {}

    def run_all(self):
        started = {}
        for name, program in PROGRAMS.items():
            for number in range(PLAIN):
                ident = f"{self._site.prefix}plain{len(started)}"
                # In the node's cgroup, with which it goes.
                self._site.ctr("run", "--detach", "--memory-limit", LIMIT_MIB * MIB, "--cgroup", f"{self._site.node.cgroup}/{ident}",
                               objects.VICTIM, ident, *program)
                started[ident] = name
        self._site.wait(lambda: len(self._incidents(started)) >= len(started), lambda: f"{len(started)} plain containers: have "
                        f"{len(self._incidents(started))}", KILL_DEADLINE_S)
        found = collections.defaultdict(collections.Counter)
        for ident, incident in self._incidents(started).items():
            found[started[ident]][incident["verdict"]["cause"]] += 1
        self.causes = {name: found[name].most_common(1)[0][0] if found[name] else None for name in PROGRAMS}
        return [(name, ", ".join(f"{count} {cause}" for cause, count in found[name].most_common())) for name in PROGRAMS]

    def _incidents(self, started):
        found = {}
        for incident in self._site.witness.incidents():
            ident = (incident["container"]["cgroup_path"] or "").rpartition("/")[2]
            if ident in started and incident["verdict"]:
                found[ident] = incident
        return found


class Row:
    """What came of the kills of one kind."""

    def __init__(self):
        self.kills = self.incidents = self.owned = self.named = self.judged = 0
        self.wrong = []

    def add(self, wanted, incidents, namespace, cause):
        self.kills += wanted.kills
        self.incidents += len(incidents)
        for life, incident in enumerate(incidents[:wanted.kills]):
            self.owned += self._check("owner", (incident["scope"], incident["limit"]["bytes"]),
                                      (wanted.scope, wanted.limit_mib * MIB), wanted.pod)
            self.named += self._check("name", self._names(incident), (namespace, wanted.pod, wanted.container, wanted.workload, life),
                                      wanted.pod)
            self.judged += self._check("verdict", incident["verdict"]["cause"], cause, wanted.pod)

    @staticmethod
    def _names(incident):
        pod = incident["pod"]
        workload = pod.get("workload")
        return (pod["namespace"], pod["name"], incident["container"]["name"], workload and (workload["kind"], workload["name"]),
                pod["restart_count"])

    def _check(self, what, have, wanted, pod):
        if what == "name" and have[1] and have[1].startswith(pod):  # of a workload the name has more to it
            have = (have[0], pod, *have[2:])
        if have != wanted:
            self.wrong.append(f"{pod}: {what} {have}, wanted {wanted}")
        return have == wanted


def incidents_of(site, wanted):
    """Of one pod, oldest first. -1 must not find -10."""
    def is_its(name):
        return name == wanted.pod or name.startswith(wanted.pod + "-")

    return sorted((i for i in site.incidents() if is_its(i["pod"]["name"] or "")), key=lambda i: i["time"])


def run_wave(site, number, name):
    wave = Wave(site, number, PROGRAMS[name])
    wave.start()

    def is_over():
        return all(len(incidents_of(site, w)) >= w.kills for w in wave.wanted)

    def missing():
        return f"missing: {[w.pod for w in wave.wanted if len(incidents_of(site, w)) < w.kills]}"

    site.wait(is_over, missing, KILL_DEADLINE_S)
    site.pods()  # whose UIDs the kernel's log has, before some of them go
    wave.end()
    return wave.wanted


def main():
    options = arguments(__doc__, waves=6)
    print_conditions()
    rows = collections.defaultdict(Row)
    with ClusterSite() as site:
        plain = Plain(site)
        plain_rows = plain.run_all()
        names = list(PROGRAMS)
        waves = []
        for number in range(options.waves):
            name = names[number % len(names)]
            waves.append((name, run_wave(site, number, name)))
            print(f"wave {number + 1}: {name}", flush=True)
        # Statuses come seconds late: what they amend is part of the incident.
        site.wait(lambda: site.counted() >= sum(w.kills for _, all_of in waves for w in all_of), "all are counted")
        for name, all_of in waves:
            for wanted in all_of:
                rows[wanted.kind].add(wanted, incidents_of(site, wanted), site.namespace, plain.causes[name])
        kernel, counted = len(site.kernel_pids()), site.counted()
    print()
    table(("program in a plain container", "verdicts"), plain_rows)
    table(("kind of pod", "kills", "incidents", "scope and limit right", "named in full", "verdict as in a plain container"),
          [(kind, r.kills, r.incidents, r.owned, r.named, r.judged) for kind, r in rows.items()])
    for row in rows.values():
        for line in row.wrong:
            print(f"  {line}")
    kills = sum(r.kills for r in rows.values())

    def of_all(what):
        return sum(getattr(r, what) for r in rows.values())

    bars = Bars()
    bars.require(f"100 kills or more: {kills}", kills >= 100)
    bars.require(f"kernel's count {kernel} = oom_kills_total {counted} = incidents {of_all('incidents')} = {kills}",
                 kernel == counted == of_all("incidents") == kills)
    bars.require(f"scope and limit right in all: {of_all('owned')} of {kills}", of_all("owned") == kills)
    bars.require(f"named with namespace, pod, container, workload and restart count in all: {of_all('named')} of {kills}",
                 of_all("named") == kills)
    bars.require(f"verdict as in a plain container in 95 %: {of_all('judged')} of {kills}", of_all("judged") >= 0.95 * kills)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
