# SPDX-License-Identifier: Apache-2.0
"""Follows the buses of a city: of each the last two minutes, and where it is expected at its next stops. A bus that goes to
the depot is forgotten, and another takes its line."""
import collections
import heapq
import random
import time
import weakref

POSITIONS_PER_SECOND = 1500
BUSES = 900


class Position:
    __slots__ = ("at", "x", "y")

    def __init__(self, at, x, y):
        self.at = at
        self.x = x
        self.y = y


class Bus:
    def __init__(self, number, line):
        self.number = number
        self.line = line
        self.track = collections.deque(maxlen=100)
        self.expected = [f"stop {n} of line {line} in {n * 2} minutes" for n in range(20)]


class Fleet:
    def __init__(self, chosen):
        self.chosen = chosen
        self.by_line = {line: Bus(line, line) for line in range(BUSES)}
        self.by_number = weakref.WeakValueDictionary((bus.number, bus) for bus in self.by_line.values())
        self.started = BUSES
        self.to_depot = [(chosen.random() * 90, line) for line in range(BUSES)]
        heapq.heapify(self.to_depot)

    def replace(self, now):
        while self.to_depot[0][0] < now:
            line = self.to_depot[0][1]
            heapq.heapreplace(self.to_depot, (now + 60 + self.chosen.random() * 60, line))
            bus = self.by_line[line] = Bus(self.started, line)
            self.by_number[bus.number] = bus
            self.started += 1

    def seen(self, line, now):
        bus = self.by_line[line]
        bus.track.append(Position(now, self.chosen.random() * 4000, self.chosen.random() * 4000))
        bus.expected[len(bus.track) % 20] = f"stop {len(bus.track) % 20} of line {line} in {int(now)} seconds"


fleet, begin, number = Fleet(random.Random(606)), time.monotonic(), 0
while True:
    now = time.monotonic() - begin
    fleet.replace(now)
    while number < now * POSITIONS_PER_SECOND:
        fleet.seen(number % BUSES, now)
        number += 1
    time.sleep(0.02)
