# SPDX-License-Identifier: Apache-2.0
"""The base of the cases: a namespace of their own in the one cluster of the run, and oomwitness as it is shipped."""
import atexit
import os
import unittest

from harness import image, tools
from harness.case import E2eTest
from harness.kernel_log import KernelLog
from harness.wait import NotInTime, eventually

from . import objects, programs, witness
from .api import ApiError
from .node import Node

KILL_DEADLINE_S = 60


def victim_image():
    """All programs of the tests' pods. Written to a path of its own: nothing is shared with another run."""
    target = os.path.join(tools.CACHE, f"images/victim-{os.getpid()}.tar")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    files = {objects.LEAK: tools.go_program("1.19", "strip"), objects.HOG: tools.memhog(), objects.SHELL: tools.find_program("busybox")}
    return image.write(target, objects.VICTIM, files, [objects.LEAK])


def pause_image():
    target = os.path.join(tools.CACHE, f"images/pause-{os.getpid()}.tar")
    return image.write(target, image.PAUSE, {"/pause": image.pause_program()}, ["/pause"])


class _Running:
    """The node and the DaemonSet that all cases share; it ends with the process."""

    node = witness = failure = None

    def get(self):
        if self.failure:  # a second try would take as long as the first, for each case
            raise self.failure
        if self.node is None:
            try:
                self._start()
            except (AssertionError, unittest.SkipTest) as e:
                self.failure = e
                raise
        self.node.start_ended()
        return self

    def _start(self):
        programs.fetch_all()
        own = [victim_image(), pause_image()]
        try:
            self.node = Node([*own, image.oomwitness_archive(witness.IMAGE)])
        finally:
            for path in own:
                os.unlink(path)
        print(f"      node ready after {self.node.ready_after_s:.1f} s", flush=True)
        self.witness = witness.Witness(self.node)

    def close(self):
        if self.node is not None:
            self.node.close()
        self.node = self.witness = None


running = _Running()
atexit.register(running.close)


class ClusterTest(E2eTest):
    """`namespace` is this case's alone. The rules of E2eTest for a test's cgroups hold for the pods in it: the test ends
    with the kernel's own count = oom_kills_total = victims in incidents."""

    overlay = "privileged"

    def setUp(self):
        if programs.why_not():
            self.skipTest(programs.why_not())
        super().setUp()
        shared = running.get()
        self.node, self.api, self.witness = shared.node, shared.node.api, shared.witness
        if self.witness.overlay != self.overlay:
            self.witness.apply(self.overlay)
        self.daemons.append(self.witness)
        self.begin(self._stack.callback)

    def begin(self, add_cleanup):
        self.enter(self.open_namespace(self.prefix.rstrip("-"), add_cleanup))

    def open_namespace(self, name, add_cleanup):
        """(its name, the kernel's log from now on, UIDs of its pods): for enter()."""
        log = KernelLog()
        add_cleanup(log.close)
        return self.make_namespace(name, add_cleanup), log, set()

    def enter(self, opened):
        """From now on this case's pods are those of that namespace."""
        self.namespace, self.kernel_log, self._uids = opened

    def print_logs(self):
        self.node.print_logs(self.node.ended())
        super().print_logs()

    def make_namespace(self, name, add_cleanup):
        """Gone, with all in it, some seconds after the test."""
        self.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        add_cleanup(self.remove_namespace, name)
        eventually(lambda: self.api.get(f"api/v1/namespaces/{name}/serviceaccounts")["items"], "a service account", 30)
        return name

    def remove_namespace(self, name):
        self.api.call("DELETE", f"api/v1/namespaces/{name}/pods?gracePeriodSeconds=0")
        self.api.delete(f"api/v1/namespaces/{name}")

    def create(self, *wanted):
        """Objects as objects.py makes them, in this case's namespace."""
        for made in wanted:
            made["metadata"]["namespace"] = self.namespace
            self.api.create(made)

    # --- from Kubernetes

    def pods(self):
        self.kernel_log.catch_up()
        found = self.api.pods(self.namespace)
        self._uids.update(uid_of(pod) for pod in found)
        return found

    def pod(self, name):
        """The newest pod whose name begins so."""
        found = [pod for pod in self.pods() if pod["metadata"]["name"].startswith(name)]
        if not found:
            raise AssertionError(f"no pod {name}* among {[pod['metadata']['name'] for pod in self.pods()]}")
        return max(found, key=lambda pod: pod["metadata"]["creationTimestamp"])

    def wait_pods(self, is_so, what, deadline_s=KILL_DEADLINE_S):
        """Until is_so(pods); the pods."""
        try:
            return eventually(lambda: (lambda pods: pods if is_so(pods) else None)(self.pods()), what, deadline_s, 0.2)
        except NotInTime as e:
            raise NotInTime(f"{e}: {[(p['metadata']['name'], p['status']) for p in self.pods()]}") from None

    def of_this_case(self, uid):
        """A pod of which the API server does not know yet."""
        self._uids.add(uid)

    # --- from oomwitness, of this case's pods: E2eTest asks

    def own(self, incidents):
        return [i for i in incidents if (i["pod"] or {}).get("uid") in self._uids
                or (i["pod"] or {}).get("namespace") == self.namespace]

    def incidents_of(self, daemon, cgroup=None):
        return self.own(daemon.incidents())

    def incidents_of_pod(self, name):
        """Of its containers, oldest first. While a victim still gives its memory back the kernel may choose again, in a pod
        whose limit is its container's: only the sandbox's process is left then. That kill is compared with the kernel's count."""
        found = [i for i in self.own(self.witness.incidents()) if (i["pod"]["name"] or "").startswith(name)
                 and {v["comm"] for v in i["victims"]} != {"pause"}]
        return sorted(found, key=lambda i: i["time"])

    def wait_incidents_of_pod(self, name, count=1, deadline_s=KILL_DEADLINE_S):
        eventually(lambda: len(self.incidents_of_pod(name)) >= count,
                   lambda: f"{count} incidents of {name}: have {[i['id'] for i in self.incidents_of_pod(name)]}, "
                           f"kernel {self.kernel_kills()}; pod {self.pod(name)['status']}", deadline_s, 0.2)
        found = self.incidents_of_pod(name)
        self.assertEqual(len(found), count, [(i["id"], i["victims"]) for i in found])
        return found

    def counted(self, daemon):
        return int(daemon.scrape().sum("oomwitness_oom_kills_total", k8s_namespace_name=self.namespace))

    def kernel_kills(self):
        """By the kernel's log: a container's cgroup is gone with it, and its count."""
        self.pods()
        pids = [v["pid"] for i in self.own(self.witness.incidents()) for v in i["victims"]]
        decisions = self.kernel_log.decisions(self.node.cgroup + "/", pids)
        return sum(len(d.killed) for d in decisions
                   if not d.victim_path or any(uid in d.victim_path for uid in self._uids))


class SharedPodsTest(ClusterTest):
    """All tests of such a class check pods that were created at once, by create_all(), before the first of them: a kill
    takes seconds, nearly all of it waiting. expected_kills: of all those pods; each test begins when these have been."""

    expected_kills = 0
    _shared = None

    def create_all(self):
        raise NotImplementedError

    def begin(self, add_cleanup):
        shared = type(self)
        if shared._shared is None:
            super().begin(shared.addClassCleanup)
            shared._shared = (self.namespace, self.kernel_log, self._uids)
            self.create_all()
            self._wait_all()
        self.enter(shared._shared)

    def _wait_all(self):
        """Or for as long as it may take: then the test of the pod that was not killed fails."""
        try:
            eventually(lambda: self.kernel_kills() >= self.expected_kills, "kills", 2 * KILL_DEADLINE_S, 0.5)
        except NotInTime:
            print(f"      {self.kernel_kills()} of {self.expected_kills} kills happened", flush=True)


def uid_of(pod):
    """What the node's cgroup is called by: of a static pod the hash of its file."""
    metadata = pod["metadata"]
    return metadata.get("annotations", {}).get("kubernetes.io/config.hash", metadata["uid"])


__all__ = ["ApiError", "ClusterTest", "SharedPodsTest", "running", "uid_of"]
