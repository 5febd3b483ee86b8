#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A storm of OOM kills, each in a container of its own: is every one counted, is every one an
incident, what does it take, and is all as before afterwards?

Three storms, a daemon each: --kills in a row at --per-second; --at-once released by one barrier; and
a barrier of 400 with the default retention, which keeps 200. Exact where it counts: the kernel's own
kill counts, the counter of each container, the incidents that appeared and the victims in those that
are still there are compared by cgroup.
"""
import collections
import contextlib
import os
import re
import sys
import time
import types

from bench_support import MIB, Bars, Site, arguments, percentile, print_conditions, table
from daemonset_memory import request_and_limit
from load_runner import cpu_seconds
from program_stats import bpftool, ids_of

from harness import fileio
from harness.daemon import Daemon
from harness.incident_watch import IncidentWatch
from harness.process_state import status_bytes
from harness.storm import Storm, victim
from harness.text_time import unix
from harness.wait import eventually

KEEP_ALL = "[incidents]\nkeep_count = 100000\nrepeats_per_minute = 0\n"  # an incident for each kill
LIMIT_MIB = 4
LATE_S = 50  # incidents wait 45 s for a walk that is late: what comes due then is part of what a storm costs
QUIET_S = 12  # incidents are amended for 5 s, retention comes 5 s after the last one, /metrics 5 s after that
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
    fileio.write(f"/proc/{pid}/clear_refs", "5")


def written_bytes(pid):
    """To storage, as the kernel accounts it when pages become dirty."""
    fields = {key: int(value) for key, value in (line.split(": ") for line in fileio.lines(f"/proc/{pid}/io"))}
    return fields["write_bytes"] - fields["cancelled_write_bytes"]


def entries_of(pid, cgroup_ids):
    """How many entries of the daemon's maps are about these cgroups; None without bpftool."""
    ids = ids_of(pid, "map_id")
    try:
        ours = [m["id"] for m in bpftool("map", "show") if m["id"] in ids and m.get("name") in CGROUP_MAPS]
    except OSError:
        return None
    keys = (int.from_bytes(bytes(int(b, 16) for b in entry["key"][:8]), "little")
            for map_id in ours for entry in bpftool("map", "dump", "id", str(map_id)))
    return sum(key in cgroup_ids for key in keys)


def total(scrape, name):
    return int(scrape.sum("oomwitness_" + name))


def all_incidents(witness):
    """Retention may take one while it is being read."""
    def read():
        try:
            return [witness.incidents()]
        except FileNotFoundError:
            return None

    return eventually(read, "the incidents can be read")[0]


def wait_written(witness, kills):
    """Until every kill is counted and nothing waits for the disk any more."""
    def is_done():
        scrape = witness.scrape()
        done = total(scrape, "incidents_written_total") + total(scrape, "oom_kills_merged_total")
        lost = scrape.sum("oomwitness_events_lost_total", stage="incidents")
        return done + lost >= kills and total(scrape, "incidents_waiting") == 0

    eventually(is_done, lambda: f"{kills} kills; log: {witness.log()[-2000:]}", 300, 0.1)


def idle_share(witness, seconds):
    before, since = cpu_seconds(witness.pid), time.monotonic()
    time.sleep(seconds)
    return (cpu_seconds(witness.pid) - before) / (time.monotonic() - since)


def appeared_in(site, watch):
    """How many incidents of each cgroup were ever renamed into place: retention may be quicker than
    whoever lists them, and its own count is up to 5 s old at /metrics."""
    found = (re.search(f"-({re.escape(site.prefix)}[a-z0-9]+)-", name) for name in watch.seen)
    return collections.Counter(match[1] for match in found if match)


def accounts(site, witness, boxes, watch):
    """Counts of the kernel, of the daemon, of incidents written, and of those still on disk."""
    scrape = witness.scrape()
    counted = {labels["k8s_container_name"]: int(value) for labels, value in scrape.values("oomwitness_oom_kills_total")}
    kernel = {box.name: box.kernel_kills() for box in boxes}
    everyones = all_incidents(witness)
    incidents = [i for i in everyones if (i["container"]["cgroup_path"] or "").startswith("/" + site.prefix)]
    victims = collections.Counter(os.path.basename(i["container"]["cgroup_path"]) for i in incidents for _ in i["victims"])
    appeared = appeared_in(site, watch)
    return types.SimpleNamespace(
        kernel=sum(kernel.values()), counted=sum(counted.get(name, 0) for name in kernel),
        wrong_containers=sum(counted.get(name, 0) != kills for name, kills in kernel.items()),
        without_incident=sum(max(0, kills - appeared[name]) for name, kills in kernel.items()),
        too_many=sum(max(appeared[name], victims[name]) > kills for name, kills in kernel.items()),
        nameless=sum(not i["victims"] for i in incidents),
        on_disk=len(everyones), written=total(scrape, "incidents_written_total"),
        pruned=total(scrape, "incidents_pruned_total"), merged=total(scrape, "oom_kills_merged_total"),
        unobserved=total(scrape, "kernel_oom_kills_unobserved_total"),
        lost={labels["stage"]: int(v) for labels, v in scrape.values("oomwitness_events_lost_total") if v},
        incidents=incidents)


def run_storm(site, name, kills, per_second, config, idle_seconds=0):
    with Daemon(os.path.join(site.scratch, name), config) as witness:
        watch = IncidentWatch(os.path.join(witness.data_dir, "incidents"))
        time.sleep(6)  # start-up, and retention's first turn: from then on the store watches its directory
        result = types.SimpleNamespace(name=name, kills=kills, idle_before=idle_share(witness, idle_seconds or 0.1),
                                       open_before=open_things(witness.pid), resident=status_bytes(witness.pid, "VmRSS"))
        boxes = [site.cgroup(f"{name}{number}", LIMIT_MIB) for number in range(kills)]
        try:
            with_storm(site, witness, boxes, per_second, result)
            result.accounts = accounts(site, witness, boxes, watch)
        finally:
            for box in boxes:
                box.close()
        result.on_disk_s = sorted(watch.seen[os.path.basename(i["_dir"])] - unix(i["time"])
                                  for i in result.accounts.incidents)
        time.sleep(QUIET_S)
        if idle_seconds:
            result.idle_after = idle_share(witness, max(idle_seconds, LATE_S))
        result.after_retention = accounts(site, witness, boxes, watch)
        result.open_after = open_things(witness.pid)
        result.left_entries = entries_of(witness.pid, {box.inode for box in boxes})
        return result


def with_storm(site, witness, boxes, per_second, result):
    with Storm(boxes, victim(4 * LIMIT_MIB), per_second) as storm:
        reset_peak(witness.pid)
        cpu, written = cpu_seconds(witness.pid), written_bytes(witness.pid)
        storm.release()
        result.killed, result.other, result.seconds = storm.wait_over()
        wait_written(witness, result.killed)
    result.cpu = cpu_seconds(witness.pid) - cpu
    result.written = written_bytes(witness.pid) - written
    result.peak = status_bytes(witness.pid, "VmHWM")


def ms(values, percent):
    value = percentile(values, percent)
    return "-" if value is None else f"{value * 1e3:.0f}"


def print_results(results):
    rows = []
    for r in results:
        a = r.accounts
        rows.append((r.name, f"{r.killed} in {r.seconds:.1f} s", a.kernel, a.counted, a.written, a.merged,
                     sum(a.lost.values()), f"{r.after_retention.on_disk} + {r.after_retention.pruned}"))
    table(("storm", "kills", "kernel counts", "oom_kills_total", "incidents written", "merged", "lost, all stages",
           "on disk + taken by retention"), rows)
    rows = [(r.name, *(ms(r.on_disk_s, p) for p in (50, 90, 99, 100)), f"{r.peak / MIB:.1f}", f"{r.resident / MIB:.1f}",
             f"{r.cpu / r.killed * 1e3:.1f}", f"{r.written / r.killed / 1024:.0f}") for r in results]
    table(("storm", "on disk p50 (ms)", "p90", "p99", "max", "peak RSS (MiB)", "before", "CPU per kill (ms)",
           "written per kill (KiB)"), rows)
    first = results[0]
    table(("before -> after", "idle CPU", "fds, threads", "BPF map entries left of its cgroups"),
          [(first.name, f"{100 * first.idle_before:.3f} -> {100 * first.idle_after:.3f} %",
            f"{first.open_before} -> {first.open_after}", first.left_entries)])


def check(bars, r):
    a, later = r.accounts, r.after_retention
    bars.require(f"{r.name}: every process was killed by the kernel", (r.killed, r.other) == (r.kills, 0))
    bars.require(f"{r.name}: kernel's counts = oom_kills_total, in sum and for each container",
                 a.kernel == a.counted == r.killed and a.wrong_containers == 0)
    bars.require(f"{r.name}: every kill in an incident of its container, or merged and counted",
                 a.written + a.merged >= r.killed and a.without_incident <= a.merged and not a.too_many + a.nameless)
    bars.require(f"{r.name}: nothing lost, nothing unobserved {a.lost or ''}", not a.lost and a.unobserved == 0)
    bars.require(f"{r.name}: after retention, on disk + pruned = written; the counts stand",
                 later.on_disk + later.pruned == later.written and later.counted == r.killed)
    bars.require(f"{r.name}: peak RSS <= 40 MB + 8 KB a container", r.peak <= 40e6 + 8e3 * r.kills)
    bars.require(f"{r.name}: peak RSS <= half of the DaemonSet's limit", 2 * r.peak <= request_and_limit()[1])
    bars.require(f"{r.name}: no more file descriptors and threads than before", r.open_after <= r.open_before)
    bars.require(f"{r.name}: no BPF map entry of its cgroups is left", not r.left_entries)


def main():
    options = arguments(__doc__, kills=1000, per_second=50, at_once=50, idle_seconds=10)
    print_conditions()
    with Site() as site:
        results = [
            run_storm(site, "row", options.kills, options.per_second, KEEP_ALL, options.idle_seconds),
            run_storm(site, "once", options.at_once, 0, KEEP_ALL),
            run_storm(site, "kept200", 400, 0, ""),
        ]
    print(f"Victims of {LIMIT_MIB} MiB, one a cgroup; row: at most {options.per_second} a second; once and kept200: one "
          "barrier, as fast as the kernel kills.\n")
    print_results(results)
    bars = Bars()
    for result in results:
        check(bars, result)
    first = results[0]
    bars.require(f"{first.kills} kills within 30 s", first.seconds <= 30)
    bars.require("idle CPU afterwards as before (+ 0.1 % of a core)", first.idle_after <= first.idle_before + 0.001)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
