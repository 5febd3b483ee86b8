# SPDX-License-Identifier: Apache-2.0
"""A pod of one container as a CRI runtime leaves it on the node: the kubelet's cgroups and the runtime's bundle. No runtime runs."""
import contextlib
import json
import os
import shutil
import uuid

from harness.cgroup import MemoryCgroup

BUNDLES = "run/containerd/io.containerd.runtime.v2.task/k8s.io"


class CriPod(contextlib.ExitStack):
    """`box` is the container's cgroup. The bundle is there before it, as with containerd."""

    def __init__(self, host_root, node, number, limit_bytes):
        super().__init__()
        self.name, self.namespace, self.container = f"otelcol-{number}", "payments", "collector"
        self.uid = str(uuid.uuid4())
        self.container_id = (uuid.uuid4().hex + uuid.uuid4().hex)
        self._write_bundle(os.path.join(host_root, BUNDLES, self.container_id))
        pod_slice = f"kubepods-burstable-pod{self.uid.replace('-', '_')}.slice"
        pod = self.enter_context(MemoryCgroup(pod_slice, None, node))
        self.box = self.enter_context(MemoryCgroup(f"cri-containerd-{self.container_id}.scope", limit_bytes, pod))

    def _write_bundle(self, directory):
        names = {"container-name": self.container, "sandbox-name": self.name, "sandbox-namespace": self.namespace,
                 "sandbox-uid": self.uid, "image-name": "example/otelcol:1"}
        os.makedirs(directory)
        self.callback(shutil.rmtree, directory)
        with open(os.path.join(directory, "config.json"), "w", encoding="utf-8") as f:
            json.dump({"annotations": {"io.kubernetes.cri." + key: value for key, value in names.items()}}, f)

    def is_named_in(self, incident):
        pod = incident["pod"]
        return (incident["container"]["id"], incident["container"]["name"]) == (self.container_id, self.container) and \
            (pod["namespace"], pod["name"], pod["uid"]) == (self.namespace, self.name, self.uid)
