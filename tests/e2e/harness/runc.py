# SPDX-License-Identifier: Apache-2.0
"""Containers started by the real runc, each from a bundle made here. runc's state is private to a test."""
import glob
import json
import os
import shutil
import subprocess

from . import Closeable, fileio
from . import cgroup as cgroups
from .process_state import describe

PROGRAM = "/program"  # where a container finds its one file
RUNC_DEADLINE_S = 60  # in a VM without KVM a start takes seconds


def why_not():
    """Why there can be no such container here; None if there can."""
    return None if shutil.which("runc") else "no runc (package runc)"


def why_no_exec():
    """Why nothing can be executed in a running container: whoever enters a mount namespace gets its root, which
    is not ours where we live in a chroot of it. None if it can."""
    there = subprocess.run(["nsenter", "--mount=/proc/self/ns/mnt", "test", "-e", os.path.abspath(__file__)])
    return None if there.returncode == 0 else "entering a mount namespace leads out of this chroot"


class RuntimeCgroup(cgroups.MemoryCgroup):
    """A container's memory cgroup, made and removed by the runtime."""

    def __init__(self, name, limit_bytes, parent):  # no super(): that one makes a directory
        self.name, self.limit_bytes = name, limit_bytes
        self.path = f"{parent.path}/{name}"
        self.directory = cgroups.ROOT + self.path
        self.is_open = True
        self._kills = 0

    def kernel_kills(self):
        """The last reading once the runtime has removed it: see note_gone()."""
        try:
            return super().kernel_kills()
        except FileNotFoundError:
            return self._kills

    def note_gone(self, kills):
        """The runtime was faster than any reader: by its exit status instead."""
        self.is_open, self._kills = False, kills


class Container(Closeable):
    """A static program as the first process of a container, and what is executed in it later.

    Its pid, network, ipc, uts and mount namespaces are its own. `bundle` is made here, `parent` is the
    memory cgroup above its own. close() ends all its processes and removes what runc made.
    """

    def __init__(self, container_id, bundle, parent, program, limit_bytes, annotations=None):
        self.id, self.bundle, self.parent = container_id, bundle, parent
        self.cgroup = RuntimeCgroup(container_id, limit_bytes, parent)
        self._runc_root = bundle + ".runc"
        self._output = bundle + ".out"
        self._running = None
        self.pid = None
        os.makedirs(os.path.join(bundle, "rootfs"))
        shutil.copy(program, os.path.join(bundle, "rootfs" + PROGRAM))
        self._annotations = annotations or {}

    def _config(self, args):
        return {
            "ociVersion": "1.0.2",
            "annotations": self._annotations,
            "process": {"user": {"uid": 0, "gid": 0}, "cwd": "/", "args": [PROGRAM, *map(str, args)],
                        "env": ["PATH=/"], "noNewPrivileges": True},
            "root": {"path": "rootfs"},
            "mounts": [{"destination": "/proc", "type": "proc", "source": "proc"},
                       {"destination": "/dev", "type": "tmpfs", "source": "tmpfs"}],
            "linux": {
                "cgroupsPath": self.cgroup.path,
                "resources": {"memory": self._memory()},
                "namespaces": [{"type": t} for t in ("pid", "network", "ipc", "uts", "mount")],
            },
        }

    def _memory(self):
        """As kubelet sets it: nothing of it is swapped, where there is swap."""
        limit = self.cgroup.limit_bytes
        return {"limit": limit, "swap": limit} if cgroups.VERSION == 2 else {"limit": limit}

    def _write_config(self, args):
        fileio.write_json(os.path.join(self.bundle, "config.json"), self._config(args))

    def _runc(self, *args):
        return ["runc", "--root", self._runc_root, *args]

    def _call(self, *args):
        with open(self._output, "ab") as output:
            done = subprocess.run(self._runc(*args), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                  timeout=RUNC_DEADLINE_S)
        if done.returncode:
            raise AssertionError(f"runc {args}: {done.returncode}\n{self.text()}")

    def _pid_from(self, name):
        return int(fileio.read(f"{self.bundle}.{name}"))

    def start(self, *args):
        """Detached, as under a shim: runc is gone when this returns. The host's pid."""
        self._write_config(args)
        self._call("run", "--detach", "--bundle", self.bundle, "--pid-file", self.bundle + ".pid", self.id)
        self.pid = self._pid_from("pid")
        return self.pid

    def run(self, *args):
        """runc stays and removes the container, its cgroup included, as soon as its program ends."""
        self._write_config(args)
        with open(self._output, "ab") as output:
            self._running = subprocess.Popen(
                self._runc("run", "--bundle", self.bundle, "--pid-file", self.bundle + ".pid", self.id),
                stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        return self._running

    def running_pid(self):
        """Of a container started by run(): its first process, by the host's count."""
        return self._pid_from("pid")

    def execute(self, *args):
        """One more process in the running container; the host's pid."""
        self._call("exec", "--detach", "--pid-file", self.bundle + ".exec", self.id, PROGRAM, *map(str, args))
        return self._pid_from("exec")

    def status(self):
        """created | running | stopped, by runc."""
        done = subprocess.run(self._runc("state", self.id), capture_output=True, text=True, timeout=RUNC_DEADLINE_S)
        return json.loads(done.stdout)["status"] if done.returncode == 0 else done.stderr.strip()

    def text(self):
        if not os.path.exists(self._output):
            return ""
        return fileio.read(self._output, errors="replace")

    def describe(self):
        return f"container {self.id} is {self.status()}\n{describe(self.pid, self.cgroup, self.text())}"

    def close(self):
        self.cgroup.kernel_kills()
        subprocess.run(self._runc("delete", "--force", self.id), capture_output=True, timeout=RUNC_DEADLINE_S)
        if self._running:
            self._running.wait(RUNC_DEADLINE_S)
        self.cgroup.is_open = False
        self._remove_cgroups()

    def _remove_cgroups(self):
        """runc leaves the parents that it made in hierarchies other than memory's."""
        for root in [cgroups.ROOT, *glob.glob("/sys/fs/cgroup/*/")]:
            for path in (self.cgroup.path, self.parent.path):
                directory = root.rstrip("/") + path
                if directory != self.parent.directory and os.path.isdir(directory):
                    os.rmdir(directory)
