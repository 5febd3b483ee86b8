# SPDX-License-Identifier: Apache-2.0
"""Plans the tours of vans: which stop next is decided by the distances between all of a tour's stops. Tours have some eighty
stops; after 24 seconds somebody plans all stops of a region as one tour."""
import math
import random
import time


class Stop:
    def __init__(self, number, x, y):
        self.number = number
        self.x = x
        self.y = y


def distance_matrix(stops):
    distances = []
    for a in stops:
        distances.append([math.hypot(a.x - b.x, a.y - b.y) for b in stops])
    return distances


def nearest_first(distances):
    order, left = [0], set(range(1, len(distances)))
    while left:
        here = distances[order[-1]]
        nearest = min(left, key=here.__getitem__)
        left.remove(nearest)
        order.append(nearest)
    return order


def plan_tour(stops):
    distances = distance_matrix(stops)
    order = nearest_first(distances)
    return sum(distances[a][b] for a, b in zip(order, order[1:]))


def region(chosen, count):
    return [Stop(n, chosen.random() * 100, chosen.random() * 60) for n in range(count)]


def main():
    chosen, begin, kilometres = random.Random(505), time.monotonic(), 0.0
    while True:
        kilometres += plan_tour(region(chosen, 80 if time.monotonic() - begin < 24 else 9000))
        time.sleep(0.05)


main()
