# SPDX-License-Identifier: Apache-2.0
"""Pods whose containers wait, in each of their lives, until the test lets them go: kills at a moment that it chooses,
also while the API server, kubelet or the daemon is away."""
import os
import shutil

from . import objects
from .case import ClusterTest

# Counts its runs in /runs, which outlives the container; waits by the shell's own means.
_HELD = ("n=1; while [ -e /runs/$n ]; do n=$((n+1)); done; : >/runs/$n; "
         "until [ -e /gate/{name}.$n ]; do sleep 0.1; done; exec {leak}")


class Gate:
    """A folder of the node, of one namespace; gone with close()."""

    def __init__(self, node, namespace):
        self.folder = node.path(f"gate-{namespace}")
        os.makedirs(self.folder)

    def container(self, name, limit_mb=64, leak=None, **fields):
        """name: of the container, and of its pod where open() is asked. leak: a command line; Go that is quick by default."""
        leak = leak or [objects.LEAK, "-rate", "200", "-listen", objects.PPROF]
        script = _HELD.format(name=name, leak=" ".join(map(str, leak)))
        mounts = [{"name": "runs", "mountPath": "/runs"}, {"name": "gate", "mountPath": "/gate", "readOnly": True}]
        return objects.container(name, [objects.SHELL, "-c", script], limit_mb, volumeMounts=mounts, **fields)

    def pod(self, name, limit_mb=64, leak=None, **spec):
        """Of one such container, with the name of the pod; started again after each kill."""
        volumes = [{"name": "gate", "hostPath": {"path": self.folder}}]
        return objects.pod(name, self.container(name, limit_mb, leak), volumes=volumes, **{"restartPolicy": "Always", **spec})

    def open(self, name, life=1):
        """Lets the container go in its life of that number, now or as soon as it begins."""
        open(os.path.join(self.folder, f"{name}.{life}"), "w").close()

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


class GatedTest(ClusterTest):
    """Its pods' containers wait at `gate`."""

    def setUp(self):
        super().setUp()
        self.gate = self.closing(Gate(self.node, self.namespace))

    def create_held(self, *names, **spec):
        self.create(*(self.gate.pod(name, **spec) for name in names))
        self.wait_pods(lambda pods: len(pods) == len(names) and all(p["status"]["phase"] == "Running" for p in pods), "all run")
