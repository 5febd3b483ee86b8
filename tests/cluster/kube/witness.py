# SPDX-License-Identifier: Apache-2.0
"""oomwitness as the manifests install it: the DaemonSet's one pod, with what tests ask of a Daemon."""
import glob
import os

from harness import fileio, manifest
from harness.daemon import read_incidents
from harness.metrics import Scrape
from harness.wait import eventually

from .processes import pids_of

IMAGE = "docker.io/library/oomwitness:0.1.0"  # what `image: oomwitness:0.1.0` means to a runtime
NAMESPACE = "oomwitness"
PORT = 9435
_DAEMONSET = f"apis/apps/v1/namespaces/{NAMESPACE}/daemonsets/oomwitness"


class Witness:
    def __init__(self, node):
        self.node, self.data_dir = node, node.path("oomwitness")
        self.process = self  # runs as long as its pod
        self.overlay = None
        self._address = None

    def apply(self, overlay):
        """Installs an overlay of deploy/kubernetes as it is shipped, over the one that is there; its daemon is ready on
        return. What kubectl printed."""
        self.overlay = None  # if it is applied half-way, it is not known
        printed = self.node.kubectl("apply", "-k", os.path.join(manifest.KUBERNETES, "overlays", overlay))
        self.overlay = overlay
        self.wait_rolled_out(is_hurried=True)
        return printed

    def wait_rolled_out(self, is_hurried=False):
        """The new daemon is alone and answers; kubelet finds out up to 3 s later, for which wait_ready() waits.

        is_hurried: see forget_ended().
        """
        self._address = None

        def is_so():
            return (not is_hurried or self.forget_ended()) and self._is_rolled_out()

        eventually(is_so, lambda: f"the new daemon answers: {self.daemon_set()['status']}\n{self.log()[-2000:]}",
                   120, 0.1)

    def forget_ended(self):
        """Takes pods from the API whose daemon was told to end and did. Kubelet of 1.20 tries to every ten seconds only, and
        the DaemonSet's next pod waits for that. True."""
        for pod in self.pods():
            metadata = pod["metadata"]
            if metadata.get("deletionTimestamp") and not pids_of(metadata["uid"], "oomwitness"):
                self.node.api.delete(f"api/v1/namespaces/{NAMESPACE}/pods/{metadata['name']}")
        return True

    def wait_ready(self):
        """As kubelet reports it by the manifest's own probes."""
        eventually(lambda: self.daemon_set()["status"].get("numberReady", 0) == 1,
                   lambda: f"the DaemonSet is ready: {self.daemon_set()['status']}\n{self.log()[-2000:]}", 120, 0.1)

    def daemon_set(self):
        return self.node.api.get(_DAEMONSET)

    def _is_rolled_out(self):
        made = self.daemon_set()
        status = made["status"]
        return (status.get("observedGeneration") == made["metadata"]["generation"]
                and status.get("desiredNumberScheduled", 0) == 1 and status.get("updatedNumberScheduled", 0) == 1
                and len(self.pods()) == 1 and self.address and self.http_get("/readyz"))

    def pods(self):
        return self.node.api.pods(NAMESPACE)

    @property
    def address(self):
        if not self._address:
            self._address = next((pod["status"]["podIP"] for pod in self.pods() if pod["status"].get("podIP")), None)
        return self._address

    pid = "in the cluster"  # for E2eTest's printing

    def poll(self):
        """None while it answers."""
        return None if self.http_get("/healthz") else 1

    def http_get(self, path):
        """Straight from the pod, whatever the API server does; "" without an answer."""
        return self.node.http_get(self.address, PORT, path)

    def scrape(self):
        text = self.http_get("/metrics")
        if not text:
            raise AssertionError(f"no answer from {self.address}:{PORT}/metrics; log: {self.log()[-2000:]}")
        return Scrape(text)

    def incidents(self):
        return read_incidents(self.data_dir)

    def log(self):
        """Of all its containers, the newest last, as the runtime wrote it."""
        text = ""
        for path in sorted(glob.glob(self.node.path(f"log/pods/{NAMESPACE}_*/*/*.log")), key=os.path.getmtime):
            text += fileio.read(path, errors="replace")
        return text
