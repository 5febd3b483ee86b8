# SPDX-License-Identifier: Apache-2.0
"""Pods and containers as a kubelet asks a runtime for them: the labels, annotations and cgroups that it gives."""
import glob
import json
import os
import signal
import subprocess
import uuid
from dataclasses import dataclass

from . import cgroup as cgroups
from . import Closeable, fileio, protobuf
from .process_state import describe
from .runc import RuntimeCgroup
from .wait import eventually

BUNDLES = "run/containerd/io.containerd.runtime.v2.task/k8s.io"
EXITED = 2  # of CRI's ContainerState
NODE, CONTAINER = 2, 1  # of CRI's NamespaceMode; 0 is the pod's own
KILL_DEADLINE_S = 120


def new_uid():
    return str(uuid.uuid4())


def slice_of(uid):
    """What the kubelet's systemd driver calls a pod's cgroup."""
    return f"kubepods-burstable-pod{uid.replace('-', '_')}.slice"


def annotations(**names):
    return {"io.kubernetes.cri." + key.replace("_", "-"): value for key, value in names.items()}


def write_bundle(host_root, container_id, **names):
    """What containerd leaves beside a container, with these annotations; its folder."""
    folder = os.path.join(host_root, BUNDLES, container_id)
    os.makedirs(folder)
    fileio.write_json(os.path.join(folder, "config.json"), {"ociVersion": "1.0.2", "annotations": annotations(**names)})
    return folder


@dataclass(frozen=True)
class Status:
    """The fields of ContainerStatus."""
    state: int
    exit_code: int
    reason: str
    pid: int
    image: str


class Pod(Closeable):
    """A sandbox with namespaces of its own, and below `qos` a cgroup made by its kubelet: this test.

    limit_bytes: of the whole pod. annotations: what the API server or a file would have brought.
    """

    def __init__(self, runtime, qos, namespace, name, uid=None, limit_bytes=None, labels=None, annotations=None,
                 host_pid=False, privileged=False):
        self.runtime, self.namespace, self.name = runtime, namespace, name
        self.uid = uid or new_uid()
        self._sandbox_security = {1: {2: NODE if host_pid else CONTAINER}, 6: privileged}
        self.cgroup = cgroups.MemoryCgroup("pod" + self.uid, limit_bytes, qos)
        self._labels = {"io.kubernetes.pod.name": name, "io.kubernetes.pod.namespace": namespace,
                        "io.kubernetes.pod.uid": self.uid}
        self._own_labels = labels or {}
        self._annotations = annotations or {}
        self.logs = os.path.join(runtime.directory, "logs", self.uid)
        os.makedirs(self.logs)
        self.id = None

    def namespaces(self):
        return self._sandbox_security[1]

    def config(self):
        return {1: {1: self.name, 2: self.uid, 3: self.namespace}, 2: self.name, 3: self.logs,
                6: {**self._labels, **self._own_labels}, 7: self._annotations, 8: {1: self.cgroup.path, 2: self._sandbox_security}}

    def start(self):
        self.id = self.runtime.call("RuntimeService/RunPodSandbox", {1: self.config()})[1][0].decode()
        return self

    def container(self, name, image, args, **options):
        return Container(self, name, image, args, **options)

    def close(self):
        try:
            if self.id:
                self.runtime.remove_pod(self.id)
        finally:
            self._end_what_is_left()
            self.cgroup.close()
            self._remove_cgroups()

    def _end_what_is_left(self):
        """Containers whose runtime did not remove them; their cgroups lie in the one that we made."""
        for directory in glob.glob(self.cgroup.directory + "/*/"):
            eventually(lambda d=directory: self._try_remove(d), f"{directory} empties", 20)

    @staticmethod
    def _try_remove(directory):
        try:
            for pid in map(int, fileio.read(directory + "cgroup.procs").split()):
                os.kill(pid, signal.SIGKILL)
            os.rmdir(directory)
        except FileNotFoundError:
            return True
        except OSError:
            return False
        return True

    def _remove_cgroups(self):
        """The runtime leaves the parents that it made in hierarchies other than memory's, and all if it died."""
        for root in glob.glob("/sys/fs/cgroup/*/"):
            if root.rstrip("/") == cgroups.ROOT:
                continue
            below = [path for path, _, _ in os.walk(root + self.cgroup.path, topdown=False)]
            above = os.path.dirname(self.cgroup.path)
            for path in [*below, *([root + above] if above != "/" else [])]:
                try:
                    os.rmdir(path)
                except OSError:
                    break  # another pod's parent as well


class Container:
    """One container of a pod, started when constructed.

    security: CRI's LinuxContainerSecurityContext by number; mounts: [(host path, container path, is_readonly)] or
    messages of CRI's Mount.
    """

    def __init__(self, pod, name, image, args, limit_bytes=None, attempt=0, command=(), security=None, mounts=(), env=None):
        self.pod, self.name, self.image = pod, name, image
        self._log_name = f"{name}-{attempt}.log"
        labels = {"io.kubernetes.container.name": name, **pod.config()[6]}
        annotations = {"io.kubernetes.container.restartCount": str(attempt)}
        linux = {1: {4: limit_bytes} if limit_bytes else {}, 2: {3: pod.namespaces(), **(security or {})}}
        config = {1: {1: name, 2: attempt}, 2: {1: image}, 3: list(command), 4: [str(a) for a in args],
                  6: [{1: k, 2: v} for k, v in (env or {}).items()],
                  7: [m if isinstance(m, dict) else {1: m[1], 2: m[0], 3: m[2]} for m in mounts],
                  9: labels, 10: annotations, 11: self._log_name, 15: linux}
        created = pod.runtime.call("RuntimeService/CreateContainer", {1: pod.id, 2: config, 3: pod.config()})
        self.id = created[1][0].decode()
        self.cgroup = RuntimeCgroup(self.id, limit_bytes, pod.cgroup)
        pod.runtime.call("RuntimeService/StartContainer", {1: self.id})
        self.pid = self.status().pid

    def status(self):
        answer = self.pod.runtime.call("RuntimeService/ContainerStatus", {1: self.id, 2: True})
        fields = protobuf.decode(answer[1][0])
        info = json.loads(protobuf.text_map(answer.get(2, [])).get("info", "{}"))
        image = protobuf.decode(fields[8][0]).get(1, [b""])[0].decode()
        return Status(fields.get(3, [0])[0], fields.get(7, [0])[0], fields.get(10, [b""])[0].decode(),
                      info.get("pid", 0), image)

    def wait_ended(self, deadline_s=KILL_DEADLINE_S):
        """Its last status."""
        eventually(lambda: self.status().state == EXITED, lambda: f"container {self.name} ends; {self.describe()}",
                   deadline_s, 0.1)
        return self.status()

    def wait_oom_killed(self, deadline_s=KILL_DEADLINE_S):
        """Until the runtime reports OOMKilled, which also removes the cgroup: the kernel's count is gone with it."""
        status = self.wait_ended(deadline_s)
        if (status.exit_code, status.reason) != (137, "OOMKilled"):
            raise AssertionError(f"container {self.name}: {status}; {self.describe()}")
        self.cgroup.note_gone(kills=1)
        return status

    def in_netns(self, *command):
        """Runs a program of ours in its network namespace; what it prints."""
        done = subprocess.run(["nsenter", f"--net=/proc/{self.pid}/ns/net", *command], capture_output=True, text=True)
        return done.stdout

    def http_get(self, port, path):
        """From 127.0.0.1 inside the pod; "" without an answer."""
        return self.in_netns("curl", "-s", "-f", "--noproxy", "*", "--max-time", "5", f"http://127.0.0.1:{port}{path}")

    def netns(self):
        return os.stat(f"/proc/{self.pid}/ns/net").st_ino

    def text(self):
        path = os.path.join(self.pod.logs, self._log_name)
        if not os.path.exists(path):
            return ""
        return fileio.read(path, errors="replace")

    def describe(self):
        return f"{self.status()}\n{describe(self.pid, self.cgroup, self.text())}"

    def stop(self):
        self.pod.runtime.call("RuntimeService/StopContainer", {1: self.id, 2: 0})
