# SPDX-License-Identifier: Apache-2.0
"""How often a process's BPF programs ran and for how long, by the kernel's statistics."""
import json
import os
import shutil
import subprocess


def _ids(pid, key):
    """Of the programs or maps that it holds open."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{fd}") as f:
                found.update(int(line.split()[1]) for line in f if line.startswith(key + ":"))
        except FileNotFoundError:
            pass
    return found


def _listed(kind):
    bpftool = shutil.which("bpftool") or "/usr/sbin/bpftool"
    return json.loads(subprocess.run([bpftool, "-j", kind, "show"], capture_output=True, text=True, check=True).stdout)


def map_bytes(pid):
    """What the kernel holds for its maps, ring buffer included."""
    ids = _ids(pid, "map_id")
    return sum(int(m.get("bytes_memlock", 0)) for m in _listed("map") if m["id"] in ids)


class ProgramRuns(dict):
    """{program: (runs, nanoseconds)}"""

    @classmethod
    def of(cls, pid):
        ids = _ids(pid, "prog_id")
        return cls({p.get("name", str(p["id"])): (p.get("run_cnt", 0), p.get("run_time_ns", 0))
                    for p in _listed("prog") if p["id"] in ids})

    def since(self, before):
        return ProgramRuns({name: (count - before.get(name, (0, 0))[0], ns - before.get(name, (0, 0))[1])
                            for name, (count, ns) in self.items()})
