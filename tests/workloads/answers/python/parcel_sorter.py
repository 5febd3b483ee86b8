# SPDX-License-Identifier: Apache-2.0
"""Sorts parcels to the ramps of vans. A van leaves when its ramp has its load or after ten seconds, and labels that were
printed are kept for the last two thousand parcels."""
import collections
import random
import time
import zlib

PARCELS_PER_SECOND = 2400


class Parcel:
    __slots__ = ("number", "address", "weight", "events")

    def __init__(self, number, chosen):
        self.number = number
        self.address = f"{chosen.randrange(1, 200)} Street {chosen.randrange(5000)}, {chosen.randrange(10_000, 99_999)} Town"
        self.weight = chosen.randrange(100, 30_000)
        self.events = [f"scanner {chosen.randrange(60)} saw parcel {number}" for _ in range(25)]


class Ramp:
    def __init__(self, number):
        self.number = number
        self.since = 0.0
        self.parcels = {}

    def add(self, parcel, now):
        if not self.parcels:
            self.since = now
        self.parcels[parcel.number] = parcel

    def leave_when_due(self, now):
        if self.parcels and (len(self.parcels) >= 400 or now - self.since > 10):
            weight = sum(parcel.weight for parcel in self.parcels.values())
            self.parcels = {}
            return weight
        return 0


class Hall:
    def __init__(self, seed):
        self.chosen = random.Random(seed)
        self.ramps = [Ramp(number) for number in range(48)]
        self.labels = collections.OrderedDict()
        self.driven = 0

    def sort(self, number, now):
        parcel = Parcel(number, self.chosen)
        self.labels[number] = f"^XA^FO50,50^FD{parcel.address}^FS^FO50,90^BC^FD{number:012d}^FS^XZ"
        if len(self.labels) > 2000:
            self.labels.popitem(last=False)
        self.ramps[zlib.crc32(parcel.address.encode()) % len(self.ramps) if number % 5 else number % 48].add(parcel, now)

    def tick(self, now):
        self.driven += sum(ramp.leave_when_due(now) for ramp in self.ramps)


def run():
    hall, begin, number = Hall(706), time.monotonic(), 0
    while True:
        now = time.monotonic()
        while number < (now - begin) * PARCELS_PER_SECOND:
            hall.sort(number, now)
            number += 1
        hall.tick(now)
        time.sleep(0.02)


run()
