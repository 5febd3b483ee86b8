# SPDX-License-Identifier: Apache-2.0
"""OOM decisions as the kernel itself logs them: what incidents are compared with."""
import errno
import os
import re

_ESCAPED = re.compile(r"\\x([0-9a-f]{2})")
_INVOKED = re.compile(r"^(.{1,15}) invoked oom-killer: ")
_TRIGGER = re.compile(r"^CPU: \d+ (?:UID: \d+ )?PID: (\d+) Comm: ")
_OWNER = re.compile(r"^oom-kill:constraint=(\w+),.*?(?:,oom_memcg=(.*))?(?:,global_oom)?,task_memcg=(.*),task=.*"
                    r",pid=\d+,uid=\d+$")
_GROUP = re.compile(r"^Tasks in (.*) are going to be killed due to memory\.oom\.group set$")
_KILLED = re.compile(r"^(?:Memory cgroup o|O)ut of memory.*?: Killed process (\d+) \((.*)\) total-vm:")


class Decision:
    """One run of the OOM killer: what it logged between "invoked oom-killer" and the next."""

    def __init__(self, comm):
        self.trigger_comm = comm
        self.trigger_pid = None
        self.constraint = self.owner_path = self.victim_path = self.group_path = None
        self.killed = []  # pids, in the order of their deaths
        self.comms = []  # of these
        self.counted_again = 0  # memory.oom.group: the chosen one is killed, and then once more with all the rest

    def __repr__(self):
        return f"Decision({vars(self)})"


class KernelLog:
    """/dev/kmsg from the moment of construction on.

    The killer holds a lock while it logs, so that decisions do not mix. Beyond ten within five seconds the kernel
    leaves out all but the "Killed process" lines: such a decision has no owner_path and no trigger.
    """

    def __init__(self):
        self._fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self._fd, 0, os.SEEK_END)
        self._all = []
        self.process_of = {}  # thread: process, given by the test: of a process whose leader is dead a thread is logged

    def close(self):
        os.close(self._fd)

    def catch_up(self):
        """Reads what there is. The kernel's buffer may hold no more than 30 decisions: a long wait reads meanwhile."""
        self._read()

    def killed(self, comm):
        """Pids of those with that comm, also of decisions of which the kernel logged no more than that."""
        self._read()
        return [pid for d in self._all for pid, name in zip(d.killed, d.comms) if name == comm]

    def decisions(self, path_prefix, pids=()):
        """Those so far whose victim lived in a cgroup that begins so; without a path, those of one of `pids`."""
        self._read()
        return [d for d in self._all
                if (d.victim_path.startswith(path_prefix) if d.victim_path else set(pids) & set(d.killed))]

    def _read(self):
        while True:
            try:
                record = os.read(self._fd, 8192)
            except BlockingIOError:
                return
            except OSError as e:
                if e.errno != errno.EPIPE:  # overrun: the next read goes on behind the gap
                    raise
                continue
            text = record.decode(errors="surrogateescape").partition(";")[2].partition("\n")[0]
            self._take(_ESCAPED.sub(lambda m: chr(int(m[1], 16)), text))

    def _take(self, line):
        if match := _INVOKED.match(line):
            self._all.append(Decision(match[1]))
            return
        if match := _KILLED.match(line):
            pid = int(match[1])
            self._add_killed(self.process_of.get(pid, pid), match[2])
            return
        if not self._all:
            return
        now = self._all[-1]
        if match := _TRIGGER.match(line):
            now.trigger_pid = now.trigger_pid or int(match[1])
        elif match := _OWNER.match(line):
            now.constraint, now.owner_path, now.victim_path = match[1], match[2], match[3]
        elif match := _GROUP.match(line):
            now.group_path = match[1]

    def _add_killed(self, pid, comm):
        is_of_last = self._all and (self._all[-1].group_path or not self._all[-1].killed)
        if not is_of_last:
            self._all.append(Decision(None))
        if pid in self._all[-1].killed:
            self._all[-1].counted_again += 1
        else:
            self._all[-1].killed.append(pid)
            self._all[-1].comms.append(comm)
