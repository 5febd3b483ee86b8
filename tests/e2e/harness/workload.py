# SPDX-License-Identifier: Apache-2.0
"""Processes started inside a cgroup and, if wanted, a network namespace of their own."""
import os
import signal
import subprocess
import tempfile
import time

from .wait import eventually

_ENTER = 'if [ -n "$OOMW_NETNS" ]; then ip link set lo up || exit 97; fi; echo $$ > "$CG" || exit 98; exec "$@"'


class Workload:
    """argv, running in `cgroup`. own_netns: a new network namespace with lo up.

    The pid is the program's own: every step on the way (unshare, sh) replaces itself.
    """

    def __init__(self, argv, cgroup, own_netns=True, oom_score_adj=None, env=None):
        self.cgroup = cgroup
        self.argv = [os.fspath(a) for a in argv]
        self.output = tempfile.TemporaryFile()
        command = ["sh", "-c", _ENTER, "sh", *self.argv]
        if own_netns:
            command = ["unshare", "-n", *command]
        full_env = dict(os.environ, CG=cgroup.procs_file(), OOMW_NETNS="1" if own_netns else "", **(env or {}))
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=subprocess.STDOUT, env=full_env)
        self.pid = self.process.pid
        self.ended_at = None
        if oom_score_adj is not None:
            with open(f"/proc/{self.pid}/oom_score_adj", "w") as f:
                f.write(str(oom_score_adj))

    def text(self):
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def wait_running(self):
        """Until the program itself has replaced the shell; its (start ticks, start unix time)."""
        want = os.path.realpath(self.argv[0])

        def is_there():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.argv} ended at once: {self.process.returncode} {self.text()}")
            return os.path.realpath(f"/proc/{self.pid}/exe") == want

        eventually(is_there, f"{self.argv[0]} runs")
        return self.start_time()

    def start_time(self):
        with open(f"/proc/{self.pid}/stat", "rb") as f:
            ticks = int(f.read().rpartition(b")")[2].split()[19])
        boot_to_wall = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
        return ticks, boot_to_wall + ticks / os.sysconf("SC_CLK_TCK")

    def wait_output(self, word):
        def has_it():
            if self.process.poll() is not None:
                raise AssertionError(f"{self.argv} ended: {self.process.returncode} {self.text()}")
            return word in self.text()

        eventually(has_it, f"{word!r} from {self.argv}")

    def wait_killed(self, deadline_s=120):
        """Until SIGKILL took it; the time we knew."""
        eventually(lambda: self.process.poll() is not None, f"{self.argv} is killed", deadline_s, 0.002)
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

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
