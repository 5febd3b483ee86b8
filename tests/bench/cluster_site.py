# SPDX-License-Identifier: Apache-2.0
"""The cluster of tests/cluster for a benchmark: a node, the DaemonSet as it is shipped, and one namespace whose kills count."""
import os
import sys
import unittest

from bench_support import HERE, Site, tools

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "cluster"))

from harness.kernel_log import KernelLog  # noqa: E402
from harness.wait import NotInTime, eventually  # noqa: E402
from kube import objects, programs  # noqa: E402
from kube.case import running, uid_of  # noqa: E402
from kube.gate import Gate  # noqa: E402


class ClusterSite(Site):
    """Ended with all that is in it. A reason on stdout and exit status 0 where there can be no cluster."""

    def __init__(self, overlay="privileged"):
        super().__init__()
        if not os.access(tools.BINARY, os.X_OK):
            sys.exit(f"no oomwitness binary at {tools.BINARY}")
        try:
            if programs.why_not():
                raise unittest.SkipTest(programs.why_not())
            shared = running.get()
        except unittest.SkipTest as e:
            print(f"skipped: {e}")
            sys.exit(0)
        self.callback(running.close)
        self.node, self.api, self.witness = shared.node, shared.node.api, shared.witness
        self.witness.apply(overlay)
        self.kernel_log = KernelLog()
        self.callback(self.kernel_log.close)
        self.namespace = self.prefix.rstrip("-")
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}})
        eventually(lambda: self.api.get(f"api/v1/namespaces/{self.namespace}/serviceaccounts")["items"], "a service account")
        self.gate = Gate(self.node, self.namespace)
        self.uids = set()

    def create(self, *wanted):
        for made in wanted:
            made["metadata"]["namespace"] = self.namespace
            self.api.create(made)

    def pods(self):
        found = self.api.pods(self.namespace)
        self.uids.update(uid_of(pod) for pod in found)
        return found

    def incidents(self):
        """Of this namespace's pods, also of those that have no name but their UID."""
        self.kernel_log.killed("")  # read on: it is a ring, and short
        return [i for i in self.witness.incidents()
                if (i["pod"] or {}).get("namespace") == self.namespace or (i["pod"] or {}).get("uid") in self.uids
                or any(uid in (i["container"]["cgroup_path"] or "") for uid in self.uids)]

    def kernel_pids(self):
        """The processes that the kernel's log names as killed here, oldest first. What it left out of its log has a pid alone: then an
        incident must have named that one."""
        self.pods()
        known = [v["pid"] for i in self.incidents() for v in i["victims"]]
        decisions = self.kernel_log.decisions(self.node.cgroup + "/", known)
        return [pid for d in decisions if not d.victim_path or any(uid in d.victim_path for uid in self.uids) for pid in d.killed]

    def counted(self):
        return int(self.witness.scrape().sum("oomwitness_oom_kills_total", k8s_namespace_name=self.namespace))

    def wait(self, is_so, what, deadline_s=60):
        """Or for so long: what is missing shows in the table."""
        try:
            eventually(is_so, what, deadline_s, 0.2)
        except NotInTime as e:
            print(f"  {e}", flush=True)

    def ctr(self, *arguments):
        done = self.node.run("ctr", "-a", self.node.path("ctrd/sock"), "-n", "k8s.io", *map(str, arguments))
        if done.returncode:
            raise AssertionError(f"ctr {' '.join(map(str, arguments))}: {done.stdout}{done.stderr}")
        return done.stdout


__all__ = ["ClusterSite", "objects"]
