#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the recordings of decisions that this host cannot make (cgroup v1 has no memory.oom.group, and nobody runs
it out of memory): tests/pipeline/make_stories.py. The events are those that each rung sends for them."""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
START = 4_105_000_000_000  # ns, CLOCK_MONOTONIC
POD, WEB, DB = 300, 301, 302


def at(seconds):
    return START + round(seconds * 1e9)


class Story:
    """A pod with two containers, `web` with a limit of 64 MiB and three processes."""

    def __init__(self, name):
        self.name = name
        self.events = [{"type": "recording", "version": 1, "wall_minus_monotonic_ns": 1_795_231_930_196_670_123}]
        for number, parent, path in ((POD, 1, "/pod"), (WEB, POD, "/pod/web"), (DB, POD, "/pod/db")):
            self.add("cgroup_created", 0, cgroup=number, parent=parent, path=path, path_complete=True)
        for pid in (501, 502, 503):
            self.seen(pid, WEB, "worker")
        self.seen(601, DB, "db")

    def add(self, kind, seconds, **fields):
        self.events.append({"type": kind, "time_ns": at(seconds), **fields})

    def seen(self, pid, cgroup, comm):
        self.add("process", 0.1, pid=pid, start_ticks=410_000 + pid, cgroup=cgroup, comm=comm,
                 exe=f"/usr/bin/{comm}", cmdline=f"/usr/bin/{comm} --id {pid}", uid=1000, oom_score_adj=0)

    def sampled(self, seconds, cgroup, usage_mib, limit_mib=None):
        limit = {} if limit_mib is None else {"limit_bytes": limit_mib * MIB}
        self.add("memory", seconds, cgroup=cgroup, usage_bytes=usage_mib * MIB, **limit,
                 nonreclaimable_bytes=(usage_mib - 1) * MIB, detailed=False)

    def killed(self, seconds, pid, cgroup=WEB, comm="worker", anon_mib=20, **fields):
        owner = {"owner_cgroup": WEB, "owner_known": True, "owner_exact": True, "owner_usage_bytes": 64 * MIB,
                 "owner_limit_bytes": 64 * MIB}
        self.add("oom_kill", seconds, **{
            "pid": pid, "start_ticks": 410_000 + pid, "cgroup": cgroup, "comm": comm, "uid": 1000, "oom_score_adj": 0,
            "rss": {"anon_bytes": anon_mib * MIB, "file_bytes": MIB, "shmem_bytes": 0, "pgtables_bytes": 65_536},
            "trigger_pid": 501, "trigger_comm": "worker", "trigger_cgroup": WEB, **owner, "source": "bpf", **fields})

    def write(self):
        with open(os.path.join(HERE, "recordings", self.name + ".jsonl"), "w", encoding="utf-8") as f:
            f.writelines(json.dumps(event, separators=(",", ":")) + "\n" for event in self.events)


def group_kill(name, **told):
    """memory.oom.group of web: three victims 30 ms apart, the chosen one marked once more in the end."""
    story = Story(name)
    story.sampled(1, WEB, 30, 64)
    story.sampled(2, WEB, 60, 64)
    for number, pid in enumerate((502, 501, 503)):
        story.killed(2.5 + 0.03 * number, pid, group_cgroup=WEB, **told)
    story.killed(2.6, 502, group_cgroup=WEB, **told)
    story.write()


def two_decisions():
    """A worker dies, and 40 ms later another: the first one's memory was not enough. Both by the same trigger."""
    story = Story("two_decisions_within_100_ms")
    story.sampled(1, WEB, 60, 64)
    story.killed(2.5, 502, decision_ns=at(2.4995), total_bytes=64 * MIB, anon_mib=30)
    story.killed(2.54, 503, decision_ns=at(2.5395), total_bytes=64 * MIB, anon_mib=25)
    story.write()


def node_wide():
    """The kernel says that no limit was hit, though one is near: nobody is blamed."""
    story = Story("node_wide")
    story.sampled(1, WEB, 63, 64)
    story.sampled(1, DB, 900)
    story.killed(2.5, 601, DB, "db", 880, decision_ns=at(2.4995), total_bytes=960 * MIB, owner_cgroup=0,
                 owner_usage_bytes=None, owner_limit_bytes=None, node_wide_said=True)
    story.write()


def only_counted():
    """The kernel's count of web rises, and nobody tells who it was."""
    story = Story("only_counted")
    for seconds, usage, kills in ((1, 30, 0), (2, 62, 0), (2.5, 4, 1), (4, 5, 1)):
        story.add("memory", seconds, cgroup=WEB, usage_bytes=usage * MIB, limit_bytes=64 * MIB,
                  nonreclaimable_bytes=(usage - 1) * MIB, kernel_oom_kills=kills, detailed=False)
    story.write()


if __name__ == "__main__":
    group_kill("group_kill_with_decision", decision_ns=at(2.4995), total_bytes=64 * MIB)
    group_kill("group_kill_without_decision", owner_exact=False)
    two_decisions()
    node_wide()
    only_counted()
