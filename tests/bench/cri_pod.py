# SPDX-License-Identifier: Apache-2.0
"""A pod of one container as a CRI runtime leaves it on the node: the kubelet's cgroups and the runtime's bundle. No runtime runs."""
import contextlib
import shutil
import uuid

from harness.cgroup import MemoryCgroup
from harness.cri import slice_of, write_bundle


class CriPod(contextlib.ExitStack):
    """`box` is the container's cgroup. The bundle is there before it, as with containerd."""

    def __init__(self, host_root, node, number, limit_bytes):
        super().__init__()
        self.name, self.namespace, self.container = f"otelcol-{number}", "payments", "collector"
        self.uid = str(uuid.uuid4())
        self.container_id = (uuid.uuid4().hex + uuid.uuid4().hex)
        self.callback(shutil.rmtree, write_bundle(
            host_root, self.container_id, container_name=self.container, sandbox_name=self.name, sandbox_namespace=self.namespace,
            sandbox_uid=self.uid, image_name="example/otelcol:1"))
        pod = self.enter_context(MemoryCgroup(slice_of(self.uid), None, node))
        self.box = self.enter_context(MemoryCgroup(f"cri-containerd-{self.container_id}.scope", limit_bytes, pod))

    def is_named_in(self, incident):
        pod = incident["pod"]
        return (incident["container"]["id"], incident["container"]["name"]) == (self.container_id, self.container) and \
            (pod["namespace"], pod["name"], pod["uid"]) == (self.namespace, self.name, self.uid)
