# SPDX-License-Identifier: Apache-2.0
"""What a process that does not do what was waited for is doing instead, for the message of the failure."""
import os

# Of a workload's output and of its threads: a message, not a dump.
TAIL_CHARACTERS = 2000
MAX_THREADS = 64
_STATUS = ("State", "VmRSS", "VmSwap", "Threads", "SigPnd", "ShdPnd")


def _read(path):
    try:
        with open(path, errors="replace") as f:
            return f.read().strip()
    except OSError as e:
        return f"({e.strerror})"


def status_bytes(pid, field):
    """Of a line of /proc/PID/status that is in kB."""
    with open(f"/proc/{pid}/status") as f:
        line = next(line for line in f if line.startswith(field + ":"))
    return int(line.split()[1]) * 1024


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
