# SPDX-License-Identifier: Apache-2.0
"""A private containerd: its own root, state, socket and network configuration, all below one directory."""
import glob
import os
import re
import shutil
import signal
import subprocess

from . import Closeable, fileio, image, protobuf
from .wait import TIME_FACTOR, eventually

CALL_DEADLINE_S = 60

_CONFIG = """
version = 2
root = "{root}"
state = "{state}"
disabled_plugins = ["io.containerd.snapshotter.v1.aufs", "io.containerd.snapshotter.v1.btrfs",
                    "io.containerd.snapshotter.v1.devmapper", "io.containerd.snapshotter.v1.zfs"]
[grpc]
  address = "{socket}"
[plugins."io.containerd.internal.v1.opt"]
  path = "{directory}/opt"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true  # root here may lack CAP_SYS_RESOURCE, and a pod's pause wants -998
  sandbox_image = "{pause}"
  netns_mounts_under_state_dir = true
  stream_server_port = "0"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false  # cgroup_parent is a plain path
        Root = "{directory}/runc"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{plugins}"
    conf_dir = "{directory}/cni/net.d"
"""

# Brings lo up in a pod's network namespace and reports an address that exists nowhere: pods reach themselves only,
# and nothing on the host changes.
_CNI_PLUGIN = """#!/bin/sh
if [ "$CNI_COMMAND" = VERSION ]; then
  echo '{"cniVersion": "0.4.0", "supportedVersions": ["0.3.1", "0.4.0"]}'
  exit 0
fi
if [ "$CNI_COMMAND" = ADD ]; then
  nsenter --net="$CNI_NETNS" ip link set lo up || exit 1
  echo '{"cniVersion": "0.4.0", "interfaces": [{"name": "'"$CNI_IFNAME"'", "sandbox": "'"$CNI_NETNS"'"}],
         "ips": [{"version": "4", "interface": 0, "address": "192.0.2.2/32"}]}'
fi
"""
_CNI_NETWORK = '{"cniVersion": "0.4.0", "name": "lonely", "plugins": [{"type": "lonely"}]}'


def why_not():
    """Why there can be no pods here; None if there can."""
    missing = [p for p in ("containerd", "ctr", "runc", "curl", "nsenter", "ip") if not shutil.which(p)]
    return f"not installed: {', '.join(missing)} (deploy/install-deps.sh tests)" if missing else None


def config(directory, state, plugins):
    """Of a containerd that keeps all below `directory`, its socket there as "sock", but for its state; plugins: CNI's."""
    return _CONFIG.format(root=os.path.join(directory, "root"), state=state, socket=os.path.join(directory, "sock"),
                          directory=directory, plugins=plugins, pause=image.PAUSE)


class CallFailed(AssertionError):
    pass


class Containerd(Closeable):
    """`containerd` with the CRI plugin below `directory`/ctrd; ready when constructed.

    A node seen from it has its state where a host has it: host_root()/run/containerd. close() removes every pod,
    ends the daemon and its shims (only those of its own socket) and unmounts what is left.
    """

    def __init__(self, directory):
        self.directory = os.path.join(directory, "ctrd")
        self.state = os.path.join(self.host_root(), "run/containerd")
        self.socket = os.path.join(self.directory, "sock")
        self._log = os.path.join(self.directory, "log")
        self._write_files()
        with open(self._log, "wb") as log:
            self.process = subprocess.Popen(["containerd", "-c", os.path.join(self.directory, "config.toml")],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            eventually(self._is_ready, lambda: f"containerd answers; log: {self.log()[-3000:]}", 30)
            self.import_image(image.PAUSE, {"/pause": image.pause_program()}, ["/pause"])
        except BaseException:
            self.close()
            raise

    def host_root(self):
        return os.path.join(self.directory, "host")

    def _write_files(self):
        plugins = os.path.join(self.directory, "cni/bin")
        networks = os.path.join(self.directory, "cni/net.d")
        for made in (plugins, networks, self.state):
            os.makedirs(made)
        # As on a node: what is mounted later, by whomever, shows in pods that asked for it.
        subprocess.run(["mount", "--bind", self.host_root(), self.host_root()], check=True)
        subprocess.run(["mount", "--make-shared", self.host_root()], check=True)
        for name in ("loopback", "lonely"):
            self._write(os.path.join(plugins, name), _CNI_PLUGIN)
            os.chmod(os.path.join(plugins, name), 0o755)
        self._write(os.path.join(networks, "10-lonely.conflist"), _CNI_NETWORK)
        self._write(os.path.join(self.directory, "config.toml"), config(self.directory, self.state, plugins))

    @staticmethod
    def _write(path, text):
        fileio.write(path, text)

    def log(self):
        return fileio.read(self._log, errors="replace")

    def _is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"containerd ended with {self.process.returncode}: {self.log()[-3000:]}")
        try:
            return self.call("RuntimeService/Version", {})
        except CallFailed:
            return False

    def call(self, method, message):
        """One unary CRI call; the answer as {number: [values]}."""
        body = protobuf.encode(message)
        headers = os.path.join(self.directory, "headers")
        done = subprocess.run(
            ["curl", "-sS", "--http2-prior-knowledge", "--unix-socket", self.socket, "-D", headers,
             "--max-time", str(CALL_DEADLINE_S * TIME_FACTOR), "-H", "content-type: application/grpc", "-H", "te: trailers",
             "--data-binary", "@-", f"http://localhost/runtime.v1.{method}"],
            input=b"\0" + len(body).to_bytes(4, "big") + body, capture_output=True)
        if done.returncode:
            raise CallFailed(f"{method}: {done.stderr.decode(errors='replace').strip()}")
        with open(headers, encoding="latin-1") as f:
            trailers = dict(re.findall(r"^(grpc-[a-z]+): (.*?)\r?$", f.read(), re.MULTILINE))
        if trailers.get("grpc-status") != "0":
            raise CallFailed(f"{method}: {trailers}")
        return protobuf.decode(done.stdout[5:])

    def import_archive(self, path):
        done = subprocess.run(["ctr", "-a", self.socket, "-n", "k8s.io", "image", "import", path], capture_output=True,
                              text=True, timeout=300 * TIME_FACTOR)
        if done.returncode:
            raise AssertionError(f"ctr image import: {done.stdout}{done.stderr}")

    def import_image(self, reference, files, entrypoint):
        archive = os.path.join(self.directory, "image.tar")
        self.import_archive(image.write(archive, reference, files, entrypoint))
        os.unlink(archive)

    def remove_pod(self, pod_id):
        """Nothing where containerd itself is gone: close() ends what it left."""
        if self.process.poll() is None:
            for method in ("StopPodSandbox", "RemovePodSandbox"):
                self.call(f"RuntimeService/{method}", {1: pod_id})

    def _remove_pods(self):
        for sandbox in self.call("RuntimeService/ListPodSandbox", {}).get(1, []):
            self.remove_pod(protobuf.decode(sandbox)[1][0].decode())

    def shims(self):
        """Pids of those that answer to this containerd: its socket's path is in their arguments."""
        found = []
        for path in glob.glob("/proc/[0-9]*/cmdline"):
            try:
                arguments = fileio.read_bytes(path).split(b"\0")
            except OSError:
                continue  # ended meanwhile
            if b"shim" in arguments[0] and self.socket.encode() in arguments:
                found.append(int(path.split("/")[2]))
        return found

    def _end_shims(self):
        """Only what a dead or confused containerd left running."""
        for pid in self.shims():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def _unmount(self):
        below = [line.split()[1] for line in fileio.lines("/proc/self/mounts") if line.split()[1].startswith(self.directory + "/")]
        for target in reversed(below):
            subprocess.run(["umount", "-l", target], capture_output=True)

    def close(self):
        try:
            if self.process.poll() is None:
                self._remove_pods()
        except AssertionError:
            pass  # whatever is left is ended below
        finally:
            self.process.terminate()
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
            self._end_shims()
            self._unmount()
            self._remove_socket_directories()

    @staticmethod
    def _remove_socket_directories():
        """Where shims listen, whatever the configuration is; empty unless another containerd runs here."""
        for directory in ("/run/containerd/s", "/run/containerd"):
            try:
                os.rmdir(directory)
            except OSError:
                return
