# SPDX-License-Identifier: Apache-2.0
"""What a process that does not do what was waited for is doing instead, for the message of the failure."""
import contextlib
import os
from . import fileio

# Of a workload's output and of its threads: a message, not a dump.
TAIL_CHARACTERS = 2000
MAX_THREADS = 64
_STATUS = ("State", "VmRSS", "VmSwap", "Threads", "SigPnd", "ShdPnd")


def _read(path):
    try:
        return fileio.read(path, errors="replace").strip()
    except OSError as e:
        return f"({e.strerror})"


def field_bytes(path, field):
    """Of a line of a file of /proc that is in kB."""
    return next(int(line.split()[1]) * 1024 for line in fileio.lines(path) if line.startswith(field + ":"))


def status_bytes(pid, field):
    return field_bytes(f"/proc/{pid}/status", field)


def memory_total():
    return field_bytes("/proc/meminfo", "MemTotal")


def children(pid):
    """Pids; without those of threads that end meanwhile."""
    found = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            found += map(int, fileio.read(f"/proc/{pid}/task/{thread}/children").split())
    return found


def is_asked(pid):
    """An established connection to its :1777, in its network namespace."""
    rows = [line.split() for line in fileio.lines(f"/proc/{pid}/net/tcp")[1:]]
    return any(row[1].endswith(":06F1") and row[3] == "01" for row in rows)


def _status(pid):
    lines = _read(f"/proc/{pid}/status").splitlines()
    wanted = [" ".join(line.split()) for line in lines if line.split(":")[0] in _STATUS]
    return ", ".join(wanted) or " ".join(lines)


def _threads(pid):
    try:
        tids = sorted(map(int, os.listdir(f"/proc/{pid}/task")))
    except OSError as e:
        return [f"threads: ({e.strerror})"]
    return [_thread(f"/proc/{pid}/task/{tid}") for tid in tids[:MAX_THREADS]]


def _thread(folder):
    name = os.path.basename(folder)
    return f"thread {name}: wchan {_read(folder + '/wchan')}, syscall {_read(folder + '/syscall')}"


def describe_cgroup(cgroup):
    try:
        return f"cgroup {cgroup.path}: usage {cgroup.usage()}, limit {cgroup.limit()}, kills {cgroup.kernel_kills()}"
    except OSError as e:
        return f"cgroup {cgroup.path}: ({e.strerror})"


def describe(pid, cgroup, output):
    """Several lines; works on a process and on a cgroup that are gone, too."""
    return "\n  ".join([f"pid {pid}: {_status(pid)}", *_threads(pid), describe_cgroup(cgroup),
                        f"output: {output[-TAIL_CHARACTERS:]!r}"])
