# SPDX-License-Identifier: Apache-2.0
"""Processes of pods, as the machine sees them: the node has no PID namespace of its own."""
import glob
import os
import signal

from harness.wait import eventually


def _read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read()
    except OSError:  # it ended meanwhile
        return ""


def pids_of(uid, comm):
    """Of the pod of that uid."""
    folders = (os.path.dirname(path) for path in glob.glob("/proc/[0-9]*/comm"))
    return [int(os.path.basename(f)) for f in folders if _read(f + "/comm").strip() == comm and uid in _read(f + "/cgroup")]


def kill_daemon(witness, pod):
    """Ends oomwitness in its pod as a crash would; kubelet starts it again there. Returns once that one answers."""
    uid = pod["metadata"]["uid"]
    before = pids_of(uid, "oomwitness")
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    eventually(lambda: set(pids_of(uid, "oomwitness")) - set(before), "kubelet starts oomwitness again", 60, 0.1)
    eventually(lambda: witness.http_get("/readyz"), lambda: f"the new oomwitness is ready: {witness.log()[-2000:]}", 60, 0.1)
