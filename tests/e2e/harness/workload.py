# SPDX-License-Identifier: Apache-2.0
"""Processes started inside a cgroup and, if wanted, a network namespace of their own."""
import os
import signal
import subprocess
import tempfile
import threading
import time

from . import Closeable, fileio
from .process_state import describe
from .wait import DEADLINE_S, eventually

_ENTER = 'if [ -n "$OOMW_NETNS" ]; then ip link set lo up || exit 97; fi; echo $$ > "$CG" || exit 98; exec "$@"'


def warm(program):
    """Reads the file, so that its page cache is ours to pay. Charged to a small cgroup, a program at its limit reads
    its own text again and again: in a VM, where files come over virtiofs, for half a minute before it is killed."""
    try:
        with open(program, "rb") as f:
            while f.read(1 << 20):
                pass
    except OSError:
        pass  # reported where it is started


class Load(threading.Thread):
    """Calls `step` with 0, 1, 2, ... until stopped; refusals by a program that starts or ends are expected."""

    def __init__(self, step):
        super().__init__(daemon=True)
        self._step, self._is_over, self._steps = step, threading.Event(), 0

    def run(self):
        while not self._is_over.is_set():
            try:
                self._step(self._steps)
                self._steps += 1
            except OSError:
                time.sleep(0.02)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._is_over.set()
        self.join(30)


class Workload(Closeable):
    """argv, running in `cgroup`. own_netns: a new network namespace with lo up.

    The pid is the program's own: every step on the way (unshare, sh) replaces itself.
    """

    def __init__(self, argv, cgroup, own_netns=True, oom_score_adj=None, env=None):
        self.cgroup = cgroup
        self.argv = [os.fspath(a) for a in argv]
        warm(self.argv[0])
        self.output = tempfile.TemporaryFile()
        # A description of its own for the child: with a shared one, our reading moves where it writes.
        child_output = os.open(f"/proc/self/fd/{self.output.fileno()}", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
        command = ["sh", "-c", _ENTER, "sh", *self.argv]
        if own_netns:
            command = ["unshare", "-n", *command]
        full_env = dict(os.environ, CG=cgroup.procs_file(), OOMW_NETNS="1" if own_netns else "", **(env or {}))
        try:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=child_output,
                                            stderr=subprocess.STDOUT, env=full_env)
        finally:
            os.close(child_output)
        self.pid = self.process.pid
        self.ended_at = None
        if oom_score_adj is not None:
            fileio.write(f"/proc/{self.pid}/oom_score_adj", str(oom_score_adj))

    def text(self):
        fd = self.output.fileno()
        return os.pread(fd, os.fstat(fd).st_size, 0).decode(errors="replace")

    def describe(self):
        """What it is doing: for the message of whoever waited in vain."""
        return describe(self.pid, self.cgroup, "" if self.output.closed else self.text())

    def wait_running(self):
        """Until the program itself has replaced the shell; its (start ticks, start unix time)."""
        want = os.path.realpath(self.argv[0])

        def is_there():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.argv} ended at once: {self.process.returncode} {self.text()}")
            return os.path.realpath(f"/proc/{self.pid}/exe") == want

        self._eventually(is_there, "runs")
        return self.start_time()

    def start_time(self):
        ticks = int(fileio.read_bytes(f"/proc/{self.pid}/stat").rpartition(b")")[2].split()[19])
        boot_to_wall = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        return ticks, boot_to_wall + ticks / os.sysconf("SC_CLK_TCK")

    def _eventually(self, probe, what, deadline_s=DEADLINE_S, every_s=0.02):
        eventually(probe, lambda: f"{what}: {self.argv}\n  {self.describe()}", deadline_s, every_s)

    def wait_output(self, word, deadline_s=DEADLINE_S):
        def has_it():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.argv} ended: {self.process.returncode} {self.text()}")
            return word in self.text()

        self._eventually(has_it, f"says {word!r}", deadline_s)

    def wait_killed(self, deadline_s=120):
        """Until SIGKILL took it; the time we knew."""
        self._eventually(lambda: self.process.poll() is not None, "is killed", deadline_s, 0.002)
        self.ended_at = time.time()
        if self.process.returncode != -signal.SIGKILL:
            raise AssertionError(f"{self.argv} ended with {self.process.returncode}, not by SIGKILL: {self.text()}")
        return self.ended_at

    def is_alive(self):
        return self.process.poll() is None

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.output.close()
