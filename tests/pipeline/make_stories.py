#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the recordings of decisions that this host cannot make (cgroup v1 has no memory.oom.group, and it must
not run out of memory): tests/pipeline/make_stories.py. The events are those that each rung sends for them."""
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
START = 4_105_000_000_000  # ns, CLOCK_MONOTONIC
POD, WEB, DB = 300, 301, 302
UID = "0c4ad1f2-0000-4000-8000-000000000001"


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


def group_kill(name, **known):
    """memory.oom.group of web: three victims 30 ms apart, the chosen one marked once more in the end."""
    story = Story(name)
    story.sampled(1, WEB, 30, 64)
    story.sampled(2, WEB, 60, 64)
    for number, pid in enumerate((502, 501, 503)):
        story.killed(2.5 + 0.03 * number, pid, group_cgroup=WEB, **known)
    story.killed(2.6, 502, group_cgroup=WEB, **known)
    story.write()


def two_decisions():
    """A worker dies, and 40 ms later another: the first one's memory was not enough. Both by the same trigger."""
    story = Story("two_decisions_within_100_ms")
    story.sampled(1, WEB, 60, 64)
    story.killed(2.5, 502, decision_ns=at(2.4995), total_bytes=64 * MIB, anon_mib=30)
    story.killed(2.54, 503, decision_ns=at(2.5395), total_bytes=64 * MIB, anon_mib=25)
    story.write()


def node_wide():
    """By the kernel no limit was hit, though one is near: no cgroup is blamed."""
    story = Story("node_wide")
    story.sampled(1, WEB, 63, 64)
    story.sampled(1, DB, 900)
    story.killed(2.5, 601, DB, "db", 880, decision_ns=at(2.4995), total_bytes=960 * MIB, owner_cgroup=0,
                 owner_usage_bytes=None, owner_limit_bytes=None, node_wide_said=True)
    story.write()


def only_counted():
    """The kernel's count of web rises, and nothing names the victim."""
    story = Story("only_counted")
    for seconds, usage, kills in ((1, 30, 0), (2, 62, 0), (2.5, 4, 1), (4, 5, 1)):
        story.add("memory", seconds, cgroup=WEB, usage_bytes=usage * MIB, limit_bytes=64 * MIB,
                  nonreclaimable_bytes=(usage - 1) * MIB, kernel_oom_kills=kills, detailed=False)
    story.write()


class KubeletPod(Story):
    """A pod whose cgroup has a limit, the sum of its containers', with a sandbox in it; its containers come and go."""

    PATH = f"/kubepods/burstable/pod{UID}"

    def __init__(self, name):
        self.name, self.next_cgroup = name, 302
        self.events = [{"type": "recording", "version": 1, "wall_minus_monotonic_ns": 1_795_231_930_196_670_123}]
        self.add("cgroup_created", 0, cgroup=POD, parent=1, path=self.PATH, path_complete=True)
        self.identified(0, POD, id="", from_bundle=False)
        self.cgroup_of(0.01, 301, "0", "")
        self.sampled(0.06, 301, 1)

    def identified(self, seconds, cgroup, id, name="", from_bundle=True):
        names = {"runtime": "containerd", "name": name, "image": "shop/cart:1.4", "pod_name": "cart-7d9f",
                 "pod_namespace": "shop"} if from_bundle else {}
        self.add("container", seconds, cgroup=cgroup, id=id, pod_uid=UID, from_bundle=from_bundle, **names)

    def cgroup_of(self, seconds, cgroup, digit, name):
        self.add("cgroup_created", seconds, cgroup=cgroup, parent=POD, path=f"{self.PATH}/{digit * 64}", path_complete=True)
        self.identified(seconds, cgroup, digit * 64, name)

    def begin(self, seconds, digit, name, pid):
        cgroup, self.next_cgroup = self.next_cgroup, self.next_cgroup + 1
        self.cgroup_of(seconds, cgroup, digit, name)
        self.seen_at(seconds, pid, cgroup, name)
        return cgroup

    def seen_at(self, seconds, pid, cgroup, comm):
        self.seen(pid, cgroup, comm)
        self.events[-1]["time_ns"] = at(seconds)

    def crossed(self, seconds, cgroup, leaf, percent, limit_mib, pid):
        self.add("watermark", seconds, cgroup=cgroup, leaf_cgroup=leaf, reason="level", level_percent=percent,
                 usage_bytes=limit_mib * MIB * percent // 100, limit_bytes=limit_mib * MIB, pid=pid)

    def skipped(self, seconds, cgroup, trigger, reason):
        self.add("capture", seconds, started_ns=at(seconds), capture_id=round(seconds * 100), cgroup=cgroup, pid=0,
                 start_ticks=0, method="live", trigger=trigger, result="skipped", reason=reason, detail="", complete=False,
                 spool_file="")

    def kill(self, seconds, pid, cgroup, limit_mib, **fields):
        self.killed(seconds, pid, cgroup, "cart", decision_ns=at(seconds - 0.0005), trigger_pid=pid, trigger_comm="cart",
                    trigger_cgroup=cgroup, owner_cgroup=POD, owner_usage_bytes=limit_mib * MIB,
                    owner_limit_bytes=limit_mib * MIB, **fields)


def restarts_in_a_pod():
    """One container of 64 MiB in a pod of 64 MiB leaks and is killed at the pod's limit, three times."""
    story = KubeletPod("restarts_in_a_pod")
    for life in range(3):
        start = 1 + 40 * life
        pid = 500 + 100 * start  # which makes it start then
        cgroup = story.begin(start, "abc"[life], "cart", pid)
        for second in range(1, 30):
            story.sampled(start + second, cgroup, 3 + 2 * second, 64)
            story.sampled(start + second + 0.001, POD, 4 + 2 * second, 64)
            percent = {14: 50, 24: 80, 27: 90, 29: 95}.get(second)
            if percent:
                story.crossed(start + second + 0.01, POD, cgroup, percent, 64, pid)
                story.crossed(start + second + 0.011, cgroup, cgroup, percent, 64, pid)
        story.skipped(start + 29.1, POD, "watermark_95", "cooldown")
        story.kill(start + 30, pid, cgroup, 64, anon_mib=60)
        story.add("exit", start + 30.01, pid=pid, start_ticks=410_000 + pid)
        story.add("cgroup_removed", start + 30.05, cgroup=cgroup)
    story.write()


def pod_limit_of_two():
    """Two containers of 64 MiB fill their pod's 128 MiB together, a moment before either fills its own."""
    story = KubeletPod("pod_limit_of_two")
    cart, proxy = story.begin(1, "a", "cart", 600), story.begin(1.1, "b", "proxy", 610)
    for second in range(2, 20):
        story.sampled(second, cart, 3 * second, 64)
        story.sampled(second + 0.001, proxy, 3 * second + 4, 64)
        story.sampled(second + 0.002, POD, 6 * second + 5, 128)
    story.kill(20.5, 600, cart, 128, anon_mib=62)
    story.sampled(20.501, proxy, 63, 64)
    story.write()


if __name__ == "__main__":
    group_kill("group_kill_with_decision", decision_ns=at(2.4995), total_bytes=64 * MIB)
    group_kill("group_kill_without_decision", owner_exact=False)
    two_decisions()
    node_wide()
    only_counted()
    restarts_in_a_pod()
    pod_limit_of_two()
