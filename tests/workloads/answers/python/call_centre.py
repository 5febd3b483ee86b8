# SPDX-License-Identifier: Apache-2.0
"""Healthy: a simulation of a call centre. Calls wait, are talked through and end; what was said is kept for nine seconds of
the simulated day and dropped. How many call goes up and down with the hour."""
import heapq
import math
import random
import time

CALLS_PER_SECOND = 1500


class Call:
    __slots__ = ("number", "began", "ends", "topics", "transcript")

    def __init__(self, number, now, seconds, chosen):
        self.number = number
        self.began = now
        self.ends = now + seconds
        self.topics = [chosen.randrange(400) for _ in range(6)]
        self.transcript = [f"{number}: sentence {n} about {topic}" for n, topic in enumerate(self.topics * 3)]

    def __lt__(self, other):
        return self.ends < other.ends


class Centre:
    def __init__(self, seed):
        self.chosen = random.Random(seed)
        self.talking = []
        self.by_topic = {}

    def ring(self, number, now):
        heapq.heappush(self.talking, Call(number, now, self.chosen.uniform(6, 9), self.chosen))

    def hang_up(self, now):
        while self.talking and self.talking[0].ends < now:
            for topic in heapq.heappop(self.talking).topics:
                self.by_topic[topic] = self.by_topic.get(topic, 0) + 1


def main():
    centre, begin, due, number = Centre(506), time.monotonic(), 0.0, 0
    last = begin
    while True:
        now = time.monotonic()
        due += (now - last) * CALLS_PER_SECOND * (1 + 0.12 * math.sin((now - begin) / 3))
        last = now
        while number < due:
            centre.ring(number, now)
            number += 1
        centre.hang_up(now)
        time.sleep(0.02)


main()
