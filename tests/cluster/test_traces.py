# SPDX-License-Identifier: Apache-2.0
"""The node itself: it ends without a trace, however the one that started it ends. After the cases whose pods something is
claimed of only half a minute later (test_unreported_kills.py): that time passes here."""
import os
import signal
import subprocess
import sys
import unittest

from harness import fileio, tools
from harness.wait import eventually
from kube import programs
from kube.node import NODE_SCRIPT

_CLUSTER = os.path.join(tools.TREE, "tests/cluster")
# A program that prints where its node is, and then does not end, or fails before the node is ready.
_RUNNER = f"""
import sys, time
sys.path[:0] = {[os.path.join(tools.TREE, "tests/e2e"), _CLUSTER]!r}
from kube import node

class Broken(node.Node):
    def start(self, name):
        if name == sys.argv[1]:
            print(self.folder, self.cgroup, flush=True)
            raise KeyboardInterrupt
        super().start(name)

made = Broken()
print(made.folder, made.cgroup, flush=True)
time.sleep(600)
"""
# Set by kubelet on a machine of its own.
SYSCTLS = ("vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
           "kernel/keys/root_maxbytes", "net/ipv4/ip_forward")


def sysctls():
    def read(name):
        return fileio.read(f"/proc/sys/{name}")

    return {name: read(name) for name in SYSCTLS}


def interfaces():
    return sorted(name for name in os.listdir("/sys/class/net"))


class Traces(unittest.TestCase):
    """A second node, beside the one of the run: they share nothing."""

    def setUp(self):
        if programs.why_not():
            self.skipTest(programs.why_not())
        programs.fetch_all()
        self.before = sysctls(), interfaces()

    def start_runner(self, fails_at):
        """A process of its own with a node; the process, the node's folder and cgroup."""
        runner = subprocess.Popen([sys.executable, "-B", "-c", _RUNNER, fails_at], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        self.addCleanup(runner.stdout.close)
        self.addCleanup(runner.wait)
        self.addCleanup(runner.kill)
        return runner, *runner.stdout.readline().split()

    @staticmethod
    def left_of(folder, cgroup):
        done = subprocess.run([NODE_SCRIPT, "leftovers"], capture_output=True, text=True, check=True)
        named = [line for line in done.stdout.splitlines() if folder in line or cgroup in line]
        return named + [path for path in (folder,) if os.path.exists(path)]

    def assert_nothing_left(self, folder, cgroup):
        eventually(lambda: not self.left_of(folder, cgroup), lambda: f"nothing is left: {self.left_of(folder, cgroup)}", 30, 0.2)
        self.assertEqual((sysctls(), interfaces()), self.before)

    def test_node_whose_user_was_killed_leaves_nothing(self):
        runner, *place = self.start_runner("never")
        self.assertTrue(self.left_of(*place), "otherwise this looks at the wrong things")
        runner.send_signal(signal.SIGKILL)
        self.assert_nothing_left(*place)

    def test_node_that_was_interrupted_while_it_started_leaves_nothing(self):
        runner, *place = self.start_runner("kubectl")  # etcd and containerd run, the API server is about to
        runner.wait()
        self.assert_nothing_left(*place)
