#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A sink that is away for a day while the daemon is killed again and again: what becomes of 1,000 real OOM kills.

The day is compressed: `hold_seconds`, after which an incident is given up, is --day seconds instead of 86,400. The kills come in
five lives of the daemon, a fifth of the day each, and each life ends by kill -9. A sixth life finds the first life's incidents too
old; then the sink comes back, and the daemon is killed once more while it delivers. Ids are judged by the victims: a process and
its start time.
"""
import collections
import os
import signal
import sys
import time

from bench_support import MIB, Bars, Site, arguments, fileio, print_conditions, table

from harness.daemon import Daemon, free_port, read_incidents
from harness.process_state import status_bytes
from harness.sink_server import SinkServer, log_record
from harness.storm import Storm, victim
from harness.wait import eventually

LIVES, LIMIT_MIB, PER_SECOND, SLOW_S = 5, 4, 25, 0.01


def waiting(witness):
    return int(witness.scrape().sum("oomwitness_sink_waiting", sink="otlp"))


def slowly(handler):
    """So that a kill -9 comes while much is still waiting."""
    time.sleep(SLOW_S)
    handler.answer(200, b"", "application/x-protobuf")


class Day:
    def __init__(self, site, options):
        self.site, self.options = site, options
        self.port, self.data_dir = free_port(), os.path.join(site.scratch, "data")
        self.began, self.kills, self.peak, self.failed = time.monotonic(), 0, 0, collections.Counter()
        self.config = (f'[sinks]\nhold_seconds = {options.day}\n[sinks.otlp]\nendpoint = "http://127.0.0.1:{self.port}"\n'
                       "[incidents]\nkeep_count = 100000\nrepeats_per_minute = 0\n")

    def sleep_until(self, share):
        """Of the day."""
        time.sleep(max(0.0, self.began + share * self.options.day - time.monotonic()))

    def own_folders(self):
        """Of incidents that this made: other kills of this machine have some, too."""
        root = os.path.join(self.data_dir, "incidents")
        return [os.path.join(root, name) for name in os.listdir(root) if self.site.prefix in name and not name.startswith(".")]

    def own_markers(self):
        return [os.path.join(folder, ".delivery-otlp") for folder in self.own_folders()]

    def daemon(self):
        return Daemon(self.data_dir, self.config)

    def note(self, witness):
        self.peak = max(self.peak, status_bytes(witness.pid, "VmHWM"))
        for labels, value in witness.scrape().values("oomwitness_sink_failed_total", sink="otlp"):
            self.failed[labels["reason"]] += int(value)

    def live(self, number):
        """One life with its share of the kills, ended by kill -9."""
        with self.daemon() as witness:
            boxes = [self.site.cgroup(f"day{number}x{each}", LIMIT_MIB) for each in range(self.options.kills // LIVES)]
            with Storm(boxes, victim(4 * LIMIT_MIB), PER_SECOND) as storm:
                storm.release()
                self.kills += storm.wait_over()[0]
            eventually(lambda: len(self.own_folders()) >= self.kills,
                       lambda: f"{self.kills} incidents: {len(self.own_folders())}; {witness.log()[-2000:]}", 120, 0.5)
            for box in boxes:
                box.close()
            self.sleep_until((number + 1) / LIVES)
            self.note(witness)
            witness.stop(signal.SIGKILL)

    def end_of_the_day(self):
        """What is too old is given up while the sink is still away; then it is back."""
        with self.daemon() as witness:
            eventually(lambda: sum(map(os.path.exists, self.own_markers())) >= self.options.kills // LIVES,
                       lambda: f"dead letters; {witness.log()[-2000:]}", self.options.day / LIVES + 60, 0.5)
            server = SinkServer(port=self.port, usual=slowly)
            self.site.callback(server.close)
            eventually(lambda: len(server.requests) >= self.options.kills // LIVES, "deliveries", 120, 0.01)
            self.note(witness)
            witness.stop(signal.SIGKILL)
        with self.daemon() as witness:
            eventually(lambda: all(map(os.path.exists, self.own_markers())) and waiting(witness) == 0, "nothing waits", 120, 0.5)
            self.note(witness)
            witness.stop()
        return [log_record(request.body) for request in server.requests]


def markers(data_dir):
    """{incident's id: its marker} of all that are on disk."""
    found = {}
    for incident in read_incidents(data_dir):
        try:
            found[incident["id"]] = fileio.read_json(os.path.join(incident["_dir"], ".delivery-otlp"))
        except FileNotFoundError:
            found[incident["id"]] = None
    return found


def bytes_on_disk(data_dir):
    return sum(os.lstat(os.path.join(folder, name)).st_size for folder, _, names in os.walk(data_dir) for name in names)


def main():
    options = arguments(__doc__, kills=1000, day=300)
    print_conditions()
    with Site() as site:
        day = Day(site, options)
        for number in range(LIVES):
            day.live(number)
        records = day.end_of_the_day()
        own = "/" + site.prefix
        incidents = [i for i in read_incidents(day.data_dir) if (i["container"]["cgroup_path"] or "").startswith(own)]
        states, used = markers(day.data_dir), bytes_on_disk(day.data_dir)
    ids_of_victim = collections.defaultdict(set)
    for incident in incidents:
        for one in incident["victims"]:
            ids_of_victim[one["pid"], one["start_time"]].add(incident["id"])
    delivered = collections.Counter()
    for record in records:
        shown = record["attributes"]
        if not shown["process.linux.cgroup"].startswith(own):
            continue  # a kill of somebody else on this machine
        delivered[shown["oomwitness.incident.id"], shown["oomwitness.incident.revision"]] += 1
        ids_of_victim[shown["process.pid"], shown["process.creation.time"]].add(shown["oomwitness.incident.id"])
    fates = collections.Counter((m["state"], m["reason"]) if (m := states[i["id"]]) else ("none", "") for i in incidents)
    sent = {i["id"] for i in incidents if (states[i["id"]] or {}).get("state") == "sent"}
    print(f"{day.kills} kills in {LIVES} lives; the sink away for {options.day} s, which stand for a day; the daemon killed "
          f"{LIVES + 1} times; load {os.getloadavg()[0]:.1f} at the end.\n")
    table(("incidents", "delivered", "dead-lettered", "neither", "came twice, same id and revision", "failed tries",
           "peak RSS (MiB)", "on disk (MiB)"),
          [(len(incidents), len(sent), ", ".join(f"{n} ({reason})" for (state, reason), n in fates.items() if state == "dead"),
            fates["none", ""], sum(n - 1 for n in delivered.values()),
            ", ".join(f"{n} {reason}" for reason, n in day.failed.items()), f"{day.peak / MIB:.1f}", f"{used / MIB:.1f}")])
    bars = Bars()
    bars.require(f"{options.kills} kills, an incident each", len(incidents) == day.kills == options.kills)
    bars.require("each delivered, or dead-lettered with a reason",
                 all(state == "sent" or (state == "dead" and reason not in ("", "none")) for state, reason in fates))
    bars.require("what is marked as delivered is what the sink got", sent == {each for each, _ in delivered})
    bars.require("some delivered, some dead-lettered", len(sent) > 0 and fates["dead", "age"] > 0)
    bars.require("no victim under two ids", all(len(ids) == 1 for ids in ids_of_victim.values()))
    bars.require("peak RSS < 80 MiB", day.peak < 80 * MIB)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
