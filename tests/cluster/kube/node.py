# SPDX-License-Identifier: Apache-2.0
"""One node of a real Kubernetes: etcd, API server, controllers, scheduler, containerd and kubelet, in namespaces of
their own. Ready some 7 s after its start, gone without a trace after close(), also if this process is killed."""
import concurrent.futures
import os
import shutil
import signal
import subprocess
import tempfile
import time

from harness import fileio
from harness.wait import TIME_FACTOR, eventually

from . import programs
from .api import Api
from .pki import NODE, Pki

NODE_SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "node.sh")


class Node:
    """Ready when constructed. images: archives to import.

    program[NAME] is the process of etcd, kube-apiserver, ... : to be stopped, killed, and started again by start().
    """

    def __init__(self, images=()):
        begun = time.monotonic()
        self.folder = tempfile.mkdtemp(prefix="oomwcluster-")
        self.program = {}
        self.api = Api(self.path("api.sock"))
        # Its standard input ends with this process, however that dies. A session of its own: what a terminal sends to
        # all processes must not end it half-way.
        self._keeper = subprocess.Popen([NODE_SCRIPT, self.folder], stdin=subprocess.PIPE, start_new_session=True)
        try:
            self._start_all(images)
        except BaseException:
            self.print_logs()
            self.close()
            raise
        self.ready_after_s = time.monotonic() - begun

    def path(self, name):
        return os.path.join(self.folder, name)

    def _read(self, name):
        return fileio.read(self.path(name)).strip()

    def _start_all(self, images):
        self.pki = Pki(self.path("pki"))
        eventually(self._has_holder, "namespaces", 20)
        self.cgroup, self.holder = self._read("cgroup"), int(self._read("holder"))
        programs.write_configs(self)
        for name in ("etcd", "containerd", "kube-apiserver", "kubectl"):
            self.start(name)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            imports = [pool.submit(self.import_archive, path) for path in images]
            self._wait(self.api.is_ready, "the API server is ready")
            for name in ("kube-controller-manager", "kube-scheduler", "kubelet"):
                self.start(name)
            self._wait(self.is_ready, "the node is ready")
            for done in imports:
                done.result()

    def _has_holder(self):
        if self._keeper.poll() is not None:
            raise AssertionError(f"node.sh ended with {self._keeper.returncode}")
        return os.path.exists(self.path("holder"))

    def _wait(self, probe, what):
        def is_so():
            self._start_impatient_again()
            self._assert_all_run()
            return probe()

        eventually(is_so, what, 60, 0.05)

    def _start_impatient_again(self):
        """On an emulated CPU, where it was seen to give up (status 255) while the API server was late with every answer: on a
        real node something starts it again, too."""
        name = "kube-controller-manager"
        if TIME_FACTOR > 1 and name in self.ended():
            self.start(name)

    def _assert_all_run(self):
        for name, process in self.program.items():
            if process.poll() is not None:
                raise AssertionError(f"{name} ended with {process.returncode}")

    def inside(self, *command):
        """The command line that runs a command in this node's namespaces; the working folder becomes /."""
        return ["nsenter", f"--target={self.holder}", "--net", "--mount", "--", *command]

    def run(self, *command, **options):
        return subprocess.run(self.inside(*command), capture_output=True, text=True, stdin=subprocess.DEVNULL, **options)

    def start(self, name):
        path = programs.path_of(name)
        environment = dict(os.environ, PATH="/usr/sbin:/usr/bin:/sbin:/bin")
        command = [path, *programs.arguments(name, self)]
        if name == "kubectl" and os.path.exists(self.path("api.sock")):
            os.unlink(self.path("api.sock"))
        with open(self.path(f"{name}.log"), "ab") as log:
            self.program[name] = subprocess.Popen(self.inside(*command), stdin=subprocess.DEVNULL, stdout=log,
                                                  stderr=log, env=environment, start_new_session=True)
        with open(self.path("programs"), encoding="ascii") as f, open(f.read().strip(), "w", encoding="ascii") as procs:
            procs.write(str(self.program[name].pid))

    def stop(self, name, signum=signal.SIGTERM):
        """Ends one program, which start() starts again."""
        self.program[name].send_signal(signum)
        self.program[name].wait(30 * TIME_FACTOR)

    def import_archive(self, path):
        socket = self.path("ctrd/sock")
        eventually(lambda: os.path.exists(socket), "containerd listens", 30)
        done = self.run("ctr", "-a", socket, "-n", "k8s.io", "image", "import", path)
        if done.returncode:
            raise AssertionError(f"ctr image import {path}: {done.stdout}{done.stderr}")

    def is_ready(self):
        """As the scheduler sees it: no taint is left either."""
        try:
            node = self.api.get(f"api/v1/nodes/{NODE}")
        except (AssertionError, OSError):
            return False
        ready = {c["type"]: c["status"] for c in node["status"].get("conditions", [])}.get("Ready")
        return ready == "True" and not node["spec"].get("taints")

    def kubectl(self, *arguments):
        """As an admin would type it; what it prints. Fails loudly."""
        done = self.run(programs.path_of("kubectl"), "--kubeconfig", self.pki.path("admin.kubeconfig"), *arguments,
                        timeout=120 * TIME_FACTOR)
        if done.returncode:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def http_get(self, address, port, path):
        """From inside of the node; "" without an answer."""
        done = subprocess.run(["nsenter", f"--net=/proc/{self.holder}/ns/net", "curl", "-s", "-f", "--noproxy", "*",
                               "--max-time", str(5 * TIME_FACTOR), f"http://{address}:{port}{path}"], capture_output=True, text=True)
        return done.stdout

    def write_static_pod(self, name, text):
        """Whole or not at all: kubelet watches the folder. An empty text takes it away."""
        target = os.path.join(self.path("static-pods"), name)
        if not text:
            os.unlink(target)
            return
        fileio.write(self.path(name + ".new"), text)
        os.rename(self.path(name + ".new"), target)

    def log(self, name):
        try:
            return fileio.read(self.path(f"{name}.log"), errors="replace")
        except FileNotFoundError:
            return ""

    def ended(self):
        """Programs that should run and do not."""
        return [name for name, process in self.program.items() if process.poll() is not None]

    def start_ended(self):
        """What a test ended, or crashed, must not be missing in the next one."""
        if names := self.ended():
            for name in names:
                self.start(name)
            self._wait(self.is_ready, f"the node is ready again, after the end of {names}")

    def print_logs(self, names=None):
        for name in self.program if names is None else names:
            print(f"--- {name}\n{self.log(name)[-6000:]}\n---", flush=True)

    def close(self):
        self._keeper.stdin.close()
        self._keeper.wait()
        for process in self.program.values():
            process.kill()  # nothing any more, unless node.sh itself was killed
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)  # node.sh has removed it, unless it could not start


def leftovers():
    """What nodes left on this machine; "" if nothing."""
    return subprocess.run([NODE_SCRIPT, "leftovers"], capture_output=True, text=True, check=True).stdout
