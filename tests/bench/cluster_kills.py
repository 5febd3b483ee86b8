#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Kills of ordinary pods of every kind under a real kubelet: is each named in full, is its limit whose it is, and is the verdict
that of the same program in a plain container?

Waves of one pod of each kind, each wave with another program. The plain container is containerd's alone: same image, program and
limit, no pod, no kubelet, in the same daemon; three a program, and what most of them were judged is what is expected.
"""
import collections
import dataclasses
import datetime
import json
import sys

from bench_support import MIB, Bars, arguments, print_conditions, table
from cluster_site import ClusterSite, objects
from kube.pki import NODE

PLAIN = 3
KILL_DEADLINE_S = 150
LIMIT_MIB = 64
IDLE_MIB = 32
# With Go and without; long enough to be seen to leak, and too quick for that.
PROGRAMS = {
    "Go, 3 MiB/s": [objects.LEAK, "-rate", "3", "-listen", objects.PPROF],
    "Go, as fast as it goes": [objects.LEAK, "-rate", "0", "-listen", objects.PPROF],
    "Go without endpoint, 3 MiB/s": [objects.LEAK, "-rate", "3", "-listen", ""],
    "C++, 40 MiB/s": [objects.HOG, "--hold-mb", "4", "--rate-mb-s", "40"],
    "C++, 3 MiB/s": [objects.HOG, "--hold-mb", "4", "--rate-mb-s", "3"],
}
_IN_ITS_FIRST_RUNS = ("n=1; while [ -e /runs/$n ]; do n=$((n+1)); done; : >/runs/$n; "
                      "[ $n -gt {times} ] && exec {hog} --hold-mb 4 || exec {leak}")
_CRON_JOB_STATUS = "apis/batch/v1beta1/namespaces/{}/cronjobs/{}/status"


@dataclasses.dataclass
class Wanted:
    """What must be known of the kills of one pod."""

    kind: str
    pod: str  # its name begins so
    kills: int = 1
    container: str = "orders"
    workload: tuple = None  # (kind, name)
    scope: str = "container"
    limit_mib: int = LIMIT_MIB


def leaking(program, **fields):
    return objects.container("orders", program, LIMIT_MIB, **fields)


def leaking_times(program, times, name="orders"):
    """In each of its first runs; then it idles. For pods that are started again."""
    words = " ".join(word or "''" for word in program)
    script = _IN_ITS_FIRST_RUNS.format(times=times, hog=objects.HOG, leak=words)
    return objects.container(name, [objects.SHELL, "-c", script], LIMIT_MIB, volumeMounts=[{"name": "runs", "mountPath": "/runs"}])


def idle(name="sidecar", limit_mib=None):
    return objects.idle(name, limit_mib)


class Wave:
    """One pod of each kind, all with the same program."""

    def __init__(self, site, number, program):
        self.site, self.number, self.program = site, number, program
        self.wanted = []

    def _name(self, kind):
        return f"{kind}-{self.number}"

    def _want(self, kind, **fields):
        self.wanted.append(Wanted(kind, self._name(kind), **fields))
        return self._name(kind)

    def start(self):
        self.site.create(*self._plain_pods(), *self._workloads())
        self._make_cron_job_due()
        self._write_static_pod()
        self._debug()

    def _plain_pods(self):
        leak = leaking(self.program)
        whole = {"memory": f"{LIMIT_MIB}Mi", "cpu": "50m"}
        child = f"{' '.join(word or repr(word) for word in self.program)} & wait; while :; do sleep 1; done"
        return [
            objects.pod(self._want("one"), leak),
            objects.pod(self._want("guaranteed"), leaking(self.program, resources={"limits": whole, "requests": whole})),
            objects.pod(self._want("two-limited"), leak, idle(limit_mib=IDLE_MIB)),
            objects.pod(self._want("one-of-two-limited"), leak, idle()),
            objects.pod(self._want("sidecar-is-killed", container="orders"), idle("main", IDLE_MIB), leak),
            objects.pod(self._want("restarted", kills=2), leaking_times(self.program, 2), restartPolicy="Always"),
            objects.pod(self._want("init", container="migrate"), idle("main", IDLE_MIB), restartPolicy="OnFailure",
                        initContainers=[leaking_times(self.program, 1, "migrate")]),
            objects.pod(self._want("host-network"), leak, hostNetwork=True),
            objects.pod(self._want("child"), objects.container("orders", [objects.SHELL, "-c", child], LIMIT_MIB)),
            objects.pod(self._want("ephemeral", container="debugger", scope="pod"), idle("main", LIMIT_MIB)),
        ]

    def _workloads(self):
        leak = leaking(self.program)

        def named(kind, resource, **fields):
            return self._want(kind, workload=(resource, self._name(kind)), **fields)

        return [
            objects.workload("Deployment", named("deployment", "Deployment", kills=2), leaking_times(self.program, 2)),
            objects.workload("StatefulSet", named("stateful", "StatefulSet"), leaking_times(self.program, 1)),
            objects.workload("DaemonSet", named("daemon", "DaemonSet"), leaking_times(self.program, 1)),
            objects.job(named("job", "Job"), leak),
            self._cron_job(named("cron", "CronJob"), leak),
        ]

    def _cron_job(self, name, leak):
        """Due once a day, and 5 minutes ago."""
        self._due = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=5)
        return objects.cron_job(name, f"{self._due.minute} {self._due.hour} * * *", leak)

    def _make_cron_job_due(self):
        """Its controller makes up for what it finds to be missed."""
        before = self._due - datetime.timedelta(minutes=5)
        body = {"status": {"lastScheduleTime": before.strftime("%Y-%m-%dT%H:%M:%SZ")}}
        path = _CRON_JOB_STATUS.format(self.site.namespace, self._name("cron"))
        self.site.api.call("PATCH", path, body, "application/merge-patch+json")

    def _write_static_pod(self):
        made = objects.pod(self._want("static"), leaking(self.program))
        made["metadata"]["namespace"] = self.site.namespace
        self.site.node.write_static_pod(f"{self._name('static')}.json", json.dumps(made))
        self.wanted[-1].pod += f"-{NODE}"

    def _debug(self):
        """What `kubectl debug` does: a container without a limit, in a pod that has one."""
        name = self._name("ephemeral")
        self.site.wait(lambda: any(p["metadata"]["name"] == name and p["status"]["phase"] == "Running" for p in self.site.pods()),
                       f"{name} runs", 120)
        added = {"name": "debugger", "image": objects.VICTIM, "imagePullPolicy": "Never", "command": self.program}
        body = {"apiVersion": "v1", "kind": "EphemeralContainers", "metadata": {"name": name}, "ephemeralContainers": [added]}
        self.site.api.call("PUT", f"api/v1/namespaces/{self.site.namespace}/pods/{name}/ephemeralcontainers", body)

    def end(self):
        """Without a CronJob nothing is killed a second time."""
        self.site.node.write_static_pod(f"{self._name('static')}.json", "")
        self.site.api.delete(f"apis/batch/v1beta1/namespaces/{self.site.namespace}/cronjobs/{self._name('cron')}")


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
