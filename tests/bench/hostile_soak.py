#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""All attacks of tests/hostile at once, for --minutes, beside --kills honest kills: is each of these an incident with the
whole heap at its kill, and does the daemon stay small and answering in its 256 MiB?

The attacks that end are begun again; --only takes some of them, by name and separated by commas. They use all CPU time
there is, so the machine must be theirs. Not here: the clock (it moves every time that would be compared) and the CLI's.
"""
import collections
import contextlib
import os
import socket
import sys
import time

from bench_support import HERE, MIB, Bars, arguments, percentile, print_conditions, table, tools

sys.path.insert(0, os.path.join(os.path.dirname(HERE), "hostile"))

import profiles  # noqa: E402
from hostile_case import DAEMON_BAR, READER_BAR, HostileTest, at_kill, cpu_seconds  # noqa: E402

from harness.incident_watch import IncidentWatch  # noqa: E402
from harness.storm import Storm, victim  # noqa: E402
from harness.text_time import unix  # noqa: E402
from harness.wait import eventually  # noqa: E402

CONFIG = "[triggers]\ncooldown_seconds = 5\n"


class Attack:
    """What `start` begins, begun again after `every_s` seconds or when its process has ended."""

    def __init__(self, name, every_s, start):
        self.name, self.every_s, self.start = name, every_s, start
        self.began, self.turns, self.stack = -every_s, 0, None

    def serve(self):
        if time.monotonic() - self.began < self.every_s:
            return
        self.stop()
        self.began, self.turns = time.monotonic(), self.turns + 1
        with contextlib.ExitStack() as stack:
            self.start(stack, self.turns)
            self.stack = stack.pop_all()

    def stop(self):
        if self.stack:
            self.stack.close()
        self.stack = None


class Soak(HostileTest):
    """Not a test of its own: setUp() and the cleanups are what a benchmark needs of it."""

    def setUp(self):
        super().setUp()
        self.leftovers = []
        self.attackers = self.cgroup("attackers")

    def runTest(self):
        pass

    def box(self, stack, name, limit_mb):
        """Below one cgroup, as the containers of one tenant are: siblings of the honest ones would be tenants like them."""
        made = self.cgroup(name, limit_mb, self.attackers)
        self.cgroups.remove(made)  # it is closed with its turn
        stack.callback(self.leftovers.append, made)
        return made

    def close_leftovers(self, seconds=0.0):
        """Processes of idle priority take their time to die; nobody waits for them but the end."""
        end = time.monotonic() + seconds
        while True:
            self.leftovers = [box for box in self.leftovers if not box.try_close()]
            if not self.leftovers or time.monotonic() >= end:
                return
            time.sleep(0.2)

    def one(self, stack, name, limit_mb, argv, **kwargs):
        work = self.attack(self.box(stack, name, limit_mb), argv, **kwargs)
        self.workloads.remove(work)
        stack.callback(work.close)
        return work

    def attacks(self):
        return [
            Attack("profile bombs", 60, self.bombs), Attack("exec flood", 30, self.execs),
            Attack("lock holder", 45, self.lock), Attack("disk", 1e9, self.disk),
            Attack("idle connections", 20, self.idle), Attack("crash loop", 1e9, self.crashes),
            Attack("spool flood", 30, self.spool), Attack("overlapping segments", 60, self.elves),
            Attack("bogus pointers", 60, self.bogus), Attack("bucket pages", 60, self.pages),
            Attack("slow bodies", 30, self.slow), Attack("fake Go", 60, self.fakes),
            Attack("watermarks", 1e9, self.swing), Attack("label sets", 60, self.sets),
        ]

    def endpoint(self, stack, name, body, swings):
        never = os.path.join(self.public, "never")
        self.one(stack, name, 96, [self.script("profile_endpoint.py"), body, 40, 76, swings, never])

    def bombs(self, stack, turn):
        body = os.path.join(self.public, "bomb")
        if not os.path.exists(body):
            self.write_public("bomb", profiles.gzipped(profiles.with_samples(390_000, size=31 * MIB)))
        for number in range(2):
            self.endpoint(stack, f"bomb{turn}n{number}", body, 2)

    def spool(self, stack, turn):
        body = os.path.join(self.public, "flood")
        if not os.path.exists(body):
            self.write_public("flood", profiles.padded(profiles.with_samples(10), 4 * MIB))
        for number in range(4):
            self.endpoint(stack, f"flood{turn}n{number}", body, 1000)

    def execs(self, stack, turn):
        self.one(stack, f"execs{turn}", 64, [self.program("exec_flood"), 4000])

    def lock(self, stack, turn):
        go = self.write_public(f"go{turn}", b"")
        self.one(stack, f"lock{turn}", 128, [self.program("lock_holder"), go])

    def disk(self, stack, _):
        folder = os.path.join(self.public, "files")
        os.makedirs(folder, exist_ok=True)
        os.chmod(folder, 0o777)
        self.one(stack, "disk", 24, [self.script("disk_stress.py"), os.path.join(folder, "file"), 64])

    def idle(self, stack, turn):
        for _ in range(32):
            with contextlib.suppress(OSError):
                sock = stack.enter_context(socket.create_connection(("127.0.0.1", self.witness.port), 1, ("127.0.0.2", 0)))
                sock.sendall((b"", b"GET /metrics HTTP/1.1\r\nX: ")[turn % 2])

    def crashes(self, stack, _):
        self.one(stack, "crashes", 8, [self.program("crash_loop"), 5, 1_000_000])

    def elves(self, stack, turn):
        image = profiles.overlapping_elf()
        for number in range(3):
            path = self.write_public(f"elf{number}", image + bytes([turn % 256, number]), 0o755)
            self.one(stack, f"elf{turn}n{number}", 64, [path])
            stack.callback(os.unlink, path)

    def bogus(self, stack, turn):
        for number in range(2):
            self.one(stack, f"bogus{turn}n{number}", 80, [self.program("fake_go"), "pointers"])

    def pages(self, stack, turn):
        program = self.published(tools.go_program("1.19", "plain", "go-hostile"))
        self.one(stack, f"pages{turn}", 300, [program, "pages"])

    def slow(self, stack, turn):
        endpoint = self.published(tools.hostile_endpoint())
        for number in range(4):
            self.one(stack, f"slow{turn}n{number}", 96,
                     ["/usr/bin/python3", endpoint, "drip", 76, 60, os.path.join(self.public, "never")])

    def fakes(self, stack, turn):
        program, box = self.program("fake_go"), self.box(stack, f"fakes{turn}", 64)
        for _ in range(20):
            work = self.attack(box, [program, "idle"], own_netns=False)
            self.workloads.remove(work)
            stack.callback(work.close)

    def swing(self, stack, _):
        for number in range(4):
            self.one(stack, f"swing{number}", 8, [self.program("oscillate"), 2048, 7400])

    def sets(self, stack, turn):
        boxes = [self.box(stack, f"set{turn}n{number}", 3) for number in range(70)]
        with Storm(boxes, victim(16)) as storm:
            storm.release()
            storm.wait_over()

    def soak(self, options):
        """(boxes of the honest kills, {attack: how often it began})."""
        minutes, kills, boxes = options.minutes, options.kills, []
        attacks = [attack for attack in self.attacks() if not options.only or attack.name in options.only.split(",")]
        begin, step = time.monotonic(), minutes * 60 / kills
        try:
            while len(boxes) < kills and self.witness.process.poll() is None:
                for attack in attacks:
                    attack.serve()
                self.close_leftovers()
                if time.monotonic() - begin >= step * len(boxes):
                    box = self.cgroup(f"honest{len(boxes)}", self.NEIGHBOUR_MB)
                    self.leaker(box, rate=self.NEIGHBOUR_RATE).wait_killed()
                    boxes.append(box)
                time.sleep(0.05)
            while time.monotonic() - begin < minutes * 60 and self.witness.process.poll() is None:
                time.sleep(0.2)
        finally:
            for attack in attacks:
                attack.stop()
            self.close_leftovers(60)
        return boxes, {attack.name: attack.turns for attack in attacks}


def results_of(soak, boxes, seen):
    """{box name: (how many incidents, what the walk gave, seconds from the kill to the directory)}."""
    found = collections.defaultdict(list)
    for incident in soak.witness.incidents():
        found[incident["container"]["cgroup_path"]].append(incident)
    results = {}
    for box in boxes:
        incidents, walk, late = found[box.path], "no incident", None
        if incidents:
            captures = at_kill(incidents[0])
            walk = "none" if not captures else captures[0]["reason"] or ("whole" if captures[0]["complete"] else "part")
            there = seen.get(os.path.basename(incidents[0]["_dir"]))
            late = there and there - unix(incidents[0]["time"])
        results[box.name] = (len(incidents), walk, late)
    return results


def report(soak, boxes, turns, results, bars, options):
    print(f"{options.minutes} minutes; attacks begun: {', '.join(f'{n} {name}' for name, n in turns.items())}.\n")
    late = [r[2] for r in results.values() if r[2] is not None]
    ms = lambda p: "-" if not late else f"{percentile(late, p) * 1e3:.0f}"
    table(("honest kills", "incidents", "whole heap", "on disk p50 (ms)", "p90", "max"),
          [(len(boxes), sum(r[0] for r in results.values()), sum(r[1] == "whole" for r in results.values()), ms(50), ms(90),
            ms(100))])
    watch, dropped = soak.watch, 0
    with contextlib.suppress(OSError):
        dropped = soak.witness.scrape().sum("oomwitness_incidents_pruned_total")
    table(("daemon's peak (MiB)", "child's peak (MiB)", "daemon's CPU (s)", "/healthz max (ms)", "/healthz bad", "incidents dropped"),
          [(f"{watch.peak / MIB:.1f}", f"{watch.child_peak / MIB:.1f}", f"{cpu_seconds(soak.witness.pid):.0f}",
            f"{watch.worst_s * 1e3:.0f}", f"{len(watch.bad)} of {watch.asked}", f"{dropped:.0f}")])
    for name, (count, walk, _) in results.items():
        if (count, walk) != (1, "whole"):
            print(f"- {name}: {count} incidents, {walk}")
    bars.require("the daemon lives, and its container was never out of memory",
                 soak.witness.process.poll() is None and soak.daemon_box.kernel_kills() == 0)
    bars.require(f"{options.kills} honest kills made", len(boxes) == options.kills)
    bars.require("each is one incident with the whole heap", all(r[:2] == (1, "whole") for r in results.values()))
    bars.require("each on disk within 1 s", bool(late) and max(late) <= 1)
    bars.require("daemon <= 80 MiB, child <= 96 MiB", watch.peak <= DAEMON_BAR and watch.child_peak <= READER_BAR)
    bars.require("/healthz 200 within 1 s, always", not watch.bad and watch.worst_s <= 1)


def main():
    options = arguments(__doc__, minutes=30.0, kills=100, only="")
    print_conditions()
    bars, soak = Bars(), Soak()
    soak.setUp()
    try:
        soak.fortress(CONFIG, args=())
        watch = IncidentWatch(os.path.join(soak.witness.data_dir, "incidents"))
        boxes, turns = soak.soak(options)
        whole = lambda: all(r[1] == "whole" for r in results_of(soak, boxes, watch.seen).values())
        with contextlib.suppress(AssertionError):
            eventually(whole, "every walk is in its incident", 30, 1)
        soak.watch.stop()
        report(soak, boxes, turns, results_of(soak, boxes, watch.seen), bars, options)
    finally:
        soak.doCleanups()
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
