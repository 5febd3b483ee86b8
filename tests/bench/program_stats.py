# SPDX-License-Identifier: Apache-2.0
"""How often a process's BPF programs ran and for how long, by the kernel's statistics."""
import json
import os
import shutil
import subprocess

from harness import fileio


def ids_of(pid, key):
    """Of the programs or maps that it holds open."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            found.update(int(line.split()[1]) for line in fileio.lines(f"/proc/{pid}/fdinfo/{fd}") if line.startswith(key + ":"))
        except FileNotFoundError:
            pass
    return found


def bpftool(*words):
    program = shutil.which("bpftool") or "/usr/sbin/bpftool"
    return json.loads(subprocess.run([program, "-j", *words], capture_output=True, text=True, check=True).stdout)


def map_bytes(pid):
    """What the kernel holds for its maps, ring buffer included."""
    ids = ids_of(pid, "map_id")
    return sum(int(m.get("bytes_memlock", 0)) for m in bpftool("map", "show") if m["id"] in ids)


class ProgramRuns(dict):
    """{program: (runs, nanoseconds)}"""

    @classmethod
    def of(cls, pid):
        ids = ids_of(pid, "prog_id")
        return cls({p.get("name", str(p["id"])): (p.get("run_cnt", 0), p.get("run_time_ns", 0))
                    for p in bpftool("prog", "show") if p["id"] in ids})

    def since(self, before):
        return ProgramRuns({name: (count - before.get(name, (0, 0))[0], ns - before.get(name, (0, 0))[1])
                            for name, (count, ns) in self.items()})
