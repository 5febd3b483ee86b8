# SPDX-License-Identifier: Apache-2.0
"""Healthy: the last measurements of each room of a building, as many as fit its chart; each minute's report is forgotten."""
import collections
import json
import random
import time

ROOMS = 680
PER_CHART = 450
MEASUREMENTS_PER_SECOND = 20_000


class Measurement:
    __slots__ = ("at", "celsius", "humidity")

    def __init__(self, at, celsius, humidity):
        self.at, self.celsius, self.humidity = at, celsius, humidity


class Room:
    def __init__(self, number):
        self.name = f"room {number}"
        self.chart = collections.deque(maxlen=PER_CHART)

    def report(self):
        return json.dumps({"room": self.name, "chart": [[m.at, m.celsius, m.humidity] for m in self.chart]})


def main():
    rooms, noise = [Room(number) for number in range(ROOMS)], random.Random(66)
    begin, number, written = time.monotonic(), 0, 0
    while True:
        while number < (time.monotonic() - begin) * MEASUREMENTS_PER_SECOND:
            rooms[number % ROOMS].chart.append(Measurement(time.time(), noise.gauss(21, 2), noise.gauss(45, 9)))
            number += 1
        written += len(rooms[number % ROOMS].report())
        time.sleep(0.02)


main()
