# SPDX-License-Identifier: Apache-2.0
"""Records what the cameras of doors see, a clip for each time that somebody rings. A clip is kept until it has been copied to
the archive, which takes a second."""
import collections
import mmap
import random
import time

RINGS_PER_SECOND = 24
CLIP_BYTES = 128 * 1024


class Clip:
    def __init__(self, door, at):
        self.door = door
        self.at = at
        self.pixels = mmap.mmap(-1, CLIP_BYTES)

    def record(self, frames):
        for frame in range(frames):
            self.pixels.write(bytes([frame & 255]) * (CLIP_BYTES // frames))


class Door:
    def __init__(self, number):
        self.number = number
        self.last_seen = {}

    def ring(self, visitor, at):
        clip = Clip(self.number, at)
        clip.record(16)
        self.last_seen[visitor] = clip
        return clip


class Archive:
    def __init__(self):
        self.open = collections.deque()
        self.copied = 0

    def copy(self, now):
        while self.open and self.open[0].at < now - 1:
            clip = self.open.popleft()
            clip.pixels.seek(0)
            self.copied += sum(clip.pixels.read(4096))


class House:
    def __init__(self):
        self.doors = [Door(number) for number in range(40)]
        self.archive = Archive()


house, chosen, begin, number = House(), random.Random(605), time.monotonic(), 0
while True:
    now = time.monotonic()
    while number < (now - begin) * RINGS_PER_SECOND:
        # Two in three rings are by somebody whom the door has seen before.
        visitor = number if chosen.random() < 0.34 else chosen.randrange(3)
        house.archive.open.append(house.doors[number % 40].ring(visitor, now))
        number += 1
    house.archive.copy(now)
    time.sleep(0.02)
