# SPDX-License-Identifier: Apache-2.0
"""Pods and what makes them, as manifests have them, with defaults that end quickly."""

VICTIM = "localhost/victim:1"
# Programs of that image. No other test's programs have these names, so that the kernel's log names our victims.
LEAK = "/cluster-leak"  # a Go program that leaks
HOG = "/cluster-hog"  # anonymous memory, no Go
SHELL = "/bin/sh"
PPROF = "127.0.0.1:1777"


def container(name, command, limit_mb=None, **fields):
    """command: a list. fields: any of the API's."""
    limits = {"resources": {"limits": {"memory": f"{limit_mb}Mi"}}} if limit_mb else {}
    return {"name": name, "image": VICTIM, "imagePullPolicy": "Never", "command": [str(c) for c in command], **limits, **fields}


def leaking(name="orders", limit_mb=64, rate=40, **fields):
    """Grows until it is killed, 2 s after its start."""
    return container(name, [LEAK, "-rate", rate, "-listen", PPROF], limit_mb, **fields)


def idle(name="sidecar", limit_mb=None, hold_mb=4, **fields):
    return container(name, [HOG, "--hold-mb", hold_mb], limit_mb, **fields)


# Counts its runs in /runs, which outlives the container; by the shell's own means, each process would be charged.
_TIMES = 'n=1; while [ -e /runs/$n ]; do n=$((n+1)); done; : >/runs/$n; [ $n -gt {times} ] && exec {after} || exec {leak}'


def leaking_times(times, name="orders", limit_mb=64, after=f"{HOG} --hold-mb 4", **fields):
    """Grows until it is killed, in each of its first runs; then it idles, or becomes another command."""
    made = leaking(name, limit_mb, **fields)
    script = _TIMES.format(times=times, after=after, leak=" ".join(made["command"]))
    return {**made, "command": [SHELL, "-c", script], "volumeMounts": [{"name": "runs", "mountPath": "/runs"}]}


def pod_spec(*containers, **spec):
    """What leaking_times() counts in is added."""
    everyone = [*containers, *spec.get("initContainers", [])]
    if any(m["name"] == "runs" for c in everyone for m in c.get("volumeMounts", [])):
        spec = {**spec, "volumes": [*spec.get("volumes", []), {"name": "runs", "emptyDir": {}}]}
    return {"containers": list(containers), "restartPolicy": "Never", "terminationGracePeriodSeconds": 0,
            "automountServiceAccountToken": False, "enableServiceLinks": False, **spec}


def pod(name, *containers, **spec):
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name, "team": "payments"}},
            "spec": pod_spec(*containers, **spec)}


def _template(name, spec):
    return {"metadata": {"labels": {"app": name, "team": "payments"}}, "spec": spec}


def workload(kind, name, *containers, **spec):
    """A Deployment, StatefulSet or DaemonSet with one pod."""
    own = {"selector": {"matchLabels": {"app": name}},
           "template": _template(name, pod_spec(*containers, **{"restartPolicy": "Always", **spec}))}
    if kind != "DaemonSet":
        own["replicas"] = 1
    if kind == "StatefulSet":
        own["serviceName"] = name
    return {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": own}


def job(name, *containers, **spec):
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "template": _template(name, pod_spec(*containers, **spec))}}


def cron_job(name, schedule, *containers, **spec):
    return {"apiVersion": "batch/v1beta1", "kind": "CronJob", "metadata": {"name": name},
            "spec": {"schedule": schedule, "concurrencyPolicy": "Forbid",
                     "jobTemplate": {"spec": job(name, *containers, **spec)["spec"]}}}
