# SPDX-License-Identifier: Apache-2.0
"""The DaemonSet of deploy/kubernetes as a kubelet would hand it to a runtime."""
import json
import os
import subprocess
import unittest

from . import tools

KUBERNETES = os.environ.get("OOMW_KUBERNETES", os.path.join(tools.TREE, "deploy/kubernetes"))
PROPAGATION = {"HostToContainer": 1, "Bidirectional": 2}  # CRI's MountPropagation
SECCOMP = {"RuntimeDefault": 0, "Unconfined": 1}  # CRI's SecurityProfile
# Added by a kubelet for containers that are not privileged.
MASKED = ["/proc/asound", "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/timer_list",
          "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware", "/sys/devices/virtual/powercap"]
READ_ONLY = ["/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"]


def build(folder):
    """The objects of a kustomization; skips where no kubectl can be had."""
    try:
        import yaml
    except ImportError:
        raise unittest.SkipTest("no python3-yaml") from None
    done = subprocess.run([tools.kubectl(), "kustomize", folder], capture_output=True, text=True)
    if done.returncode != 0 or done.stderr:
        raise AssertionError(f"{folder}: {done.stderr}")
    return [o for o in yaml.safe_load_all(done.stdout) if o]


class DaemonSet:
    """One overlay."""

    def __init__(self, overlay):
        folder = os.path.join(KUBERNETES, "overlays", overlay)
        if not os.path.isdir(folder):
            raise unittest.SkipTest(f"no overlay {overlay} in deploy/kubernetes")
        objects = build(folder)
        self._configs = {o["metadata"]["name"]: o["data"] for o in objects if o["kind"] == "ConfigMap"}
        self.spec = next(o for o in objects if o["kind"] == "DaemonSet")["spec"]["template"]["spec"]
        self.container = self.spec["containers"][0]
        self.host_pid = bool(self.spec.get("hostPID"))
        self.args = self.container.get("args", [])
        self.limit_mb = int(self.container["resources"]["limits"]["memory"].removesuffix("Mi"))
        self._context = self.container.get("securityContext", {})
        self.privileged = bool(self._context.get("privileged"))

    def security(self):
        """CRI's LinuxContainerSecurityContext. AppArmor and SELinux are the node's, and not here."""
        capabilities = self._context.get("capabilities", {})
        message = {1: {1: capabilities.get("add", []), 2: capabilities.get("drop", [])}, 2: self.privileged,
                   5: {1: self._context.get("runAsUser", 0)}, 7: bool(self._context.get("readOnlyRootFilesystem")),
                   11: self._context.get("allowPrivilegeEscalation") is False}
        if not self.privileged:
            profile = self._context.get("seccompProfile", {"type": "Unconfined"})
            message.update({13: MASKED, 14: READ_ONLY, 15: {1: SECCOMP[profile["type"]]}})
        return message

    def mounts(self, path_of, write_config):
        """CRI's Mounts. path_of(host path): where this test's node has it; write_config({file: text}): a folder."""
        sources = {}
        for volume in self.spec["volumes"]:
            if "hostPath" in volume:
                sources[volume["name"]] = path_of(volume["hostPath"]["path"])
            elif "configMap" in volume:
                sources[volume["name"]] = write_config(self._configs[volume["configMap"]["name"]])
        return [{1: m["mountPath"], 2: sources[m["name"]], 3: bool(m.get("readOnly")),
                 5: PROPAGATION.get(m.get("mountPropagation"), 0)} for m in self.container["volumeMounts"]
                if m["name"] in sources]

    def __str__(self):
        return json.dumps(self.container)
