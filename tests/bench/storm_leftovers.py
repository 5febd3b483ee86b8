# SPDX-License-Identifier: Apache-2.0
"""What a process holds, and what it leaves behind in its BPF maps."""
import contextlib
import json
import os
import shutil
import subprocess

# Their keys begin with a cgroup's id.
CGROUP_MAPS = {"memcg_states", "level_gates", "reclaims"}


def open_things(pid):
    """(file descriptors, threads). Not the files of living cgroups that the sampler keeps open."""
    kept = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            link = os.readlink(f"/proc/{pid}/fd/{fd}")
            kept += link.startswith("/sys/fs/cgroup/") and not link.endswith(" (deleted)")
    return len(os.listdir(f"/proc/{pid}/fd")) - kept, len(os.listdir(f"/proc/{pid}/task"))


def reset_peak(pid):
    with open(f"/proc/{pid}/clear_refs", "w") as f:
        f.write("5")


def written_bytes(pid):
    """To storage, as the kernel accounts it when pages become dirty."""
    with open(f"/proc/{pid}/io") as f:
        fields = {key: int(value) for key, value in (line.split(": ") for line in f)}
    return fields["write_bytes"] - fields["cancelled_write_bytes"]


def _map_ids(pid):
    ids = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}") as f:
                ids.update(int(line.split()[1]) for line in f if line.startswith("map_id:"))
        except FileNotFoundError:
            pass
    return ids


def entries_of(pid, cgroup_ids):
    """How many entries of the daemon's maps are about these cgroups; None without bpftool."""
    bpftool = shutil.which("bpftool") or "/usr/sbin/bpftool"
    if not os.access(bpftool, os.X_OK):
        return None

    def ask(*words):
        return json.loads(subprocess.run([bpftool, "-j", *words], capture_output=True, text=True, check=True).stdout)

    ids = _map_ids(pid)
    ours = [m["id"] for m in ask("map", "show") if m["id"] in ids and m.get("name") in CGROUP_MAPS]
    keys = (int.from_bytes(bytes(int(b, 16) for b in entry["key"][:8]), "little")
            for map_id in ours for entry in ask("map", "dump", "id", str(map_id)))
    return sum(key in cgroup_ids for key in keys)
