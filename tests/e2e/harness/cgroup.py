# SPDX-License-Identifier: Apache-2.0
"""Memory cgroups of our own, on v1 and v2."""
import errno
import os
import signal
import time

from . import Closeable, fileio
from .wait import eventually


def _probe():
    if os.path.isdir("/sys/fs/cgroup/memory"):
        return 1, "/sys/fs/cgroup/memory"
    if "memory" not in fileio.read("/sys/fs/cgroup/cgroup.controllers").split():
        raise RuntimeError("no memory controller in /sys/fs/cgroup")
    return 2, "/sys/fs/cgroup"


VERSION, ROOT = _probe()


class MemoryCgroup(Closeable):
    """A memory cgroup below the hierarchy's root or below `parent`; gone after close().

    Names may hold any byte a file name may (surrogateescape). kernel_kills() keeps its last
    reading after the directory is gone.
    """

    def __init__(self, name, limit_bytes=None, parent=None):
        self.name = name
        self.path = (parent.path if parent else "") + "/" + name
        self.directory = ROOT + self.path
        self._kills = 0
        if VERSION == 2 and parent:
            self._write_at(parent.directory, "cgroup.subtree_control", "+memory")
        os.mkdir(self.directory)
        self.is_open = True
        self.inode = os.stat(self.directory).st_ino
        self._accept_children()
        if limit_bytes is not None:
            self.set_limit(limit_bytes)

    def _accept_children(self):
        flag = self.directory + "/memory.use_hierarchy"  # kernels before 5.11
        if os.path.exists(flag) and self.read("memory.use_hierarchy").strip() == "0":
            try:
                self._write_at(self.directory, "memory.use_hierarchy", "1")
            except OSError:
                pass

    @staticmethod
    def _write_at(directory, name, text):
        fileio.write(f"{directory}/{name}", text)

    def write(self, name, text):
        self._write_at(self.directory, name, text)

    def read(self, name):
        return fileio.read(f"{self.directory}/{name}")

    def set_limit(self, limit_bytes):
        self.limit_bytes = limit_bytes
        if VERSION == 1:
            self.write("memory.limit_in_bytes", str(limit_bytes))
            return
        self.write("memory.max", str(limit_bytes))
        if os.path.exists(self.directory + "/memory.swap.max"):
            self.write("memory.swap.max", "0")

    def usage(self):
        return int(self.read("memory.usage_in_bytes" if VERSION == 1 else "memory.current"))

    def limit(self):
        """As the kernel holds it, "max" included."""
        return self.read("memory.limit_in_bytes" if VERSION == 1 else "memory.max").strip()

    def kernel_kills(self):
        """Victims in this very cgroup, as the kernel counts them."""
        if self.is_open:
            text = self.read("memory.oom_control" if VERSION == 1 else self._v2_events())
            self._kills = int(dict(line.split() for line in text.splitlines())["oom_kill"])
        return self._kills

    def _v2_events(self):
        local = "memory.events.local"
        return local if os.path.exists(f"{self.directory}/{local}") else "memory.events"

    def pids(self):
        return [int(line) for line in self.read("cgroup.procs").split()]

    def procs_file(self):
        return self.directory + "/cgroup.procs"

    def close(self):
        """Ends what still runs inside (all started by us: nothing else joins) and removes it."""
        if not self.is_open:
            return
        self.kernel_kills()
        eventually(self._try_remove, f"cgroup {self.path!r} empties", 20)
        self.is_open = False

    def try_close(self):
        """One attempt of close(); whether it is gone."""
        if self.is_open:
            self.kernel_kills()
            self.is_open = not self._try_remove()
        return not self.is_open

    def _try_remove(self):
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            os.rmdir(self.directory)
            return True
        except OSError as e:
            if e.errno == errno.ENOENT:
                return True
            if e.errno != errno.EBUSY:
                raise
            time.sleep(0.01)
            return False
