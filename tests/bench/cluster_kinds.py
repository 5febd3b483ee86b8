# SPDX-License-Identifier: Apache-2.0
"""The kinds of pods that cluster_kills.py has killed, and what must be known of each kill."""
import dataclasses
import datetime
import json

from cluster_site import objects
from kube.pki import NODE

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
