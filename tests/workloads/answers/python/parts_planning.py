# SPDX-License-Identifier: Apache-2.0
"""Plans what parts a factory needs: every order is broken down into assemblies, and these into parts, with a day for each.
Orders are planned one after the other, thirty in a second."""
import random
import time

ORDERS_PER_SECOND = 30
LARGE_ORDER = 1000  # a whole train, with all of its coaches


class Requirement:
    def __init__(self, part, pieces, day, path):
        self.part = part
        self.pieces = pieces
        self.day = day
        self.path = path


class PartsList:
    """Which parts an assembly is made of; the deeper, the more of them are screws."""

    def __init__(self, seed):
        chosen = random.Random(seed)
        self.children = [[(chosen.randrange(2000), chosen.randrange(1, 6)) for _ in range(3)] for _ in range(2000)]

    def explode(self, assembly, depth, day, path, requirements):
        for part, pieces in self.children[assembly]:
            below = f"{path}/{part}"
            requirements.append(Requirement(part, pieces, day, below))
            if depth > 1:
                self.explode(part, depth - 1, day - 2, below, requirements)


class Planning:
    def __init__(self):
        self.parts_list = PartsList(604)
        self.needed = [0] * 2000

    def plan_order(self, number):
        requirements = []
        assemblies = 400 if number == LARGE_ORDER else 1 + number % 2
        for assembly in range(assemblies):
            self.parts_list.explode((number + assembly) % 2000, 6, 200, f"order-{number}", requirements)
        requirements.sort(key=lambda r: r.day)
        for requirement in requirements:
            self.needed[requirement.part] += requirement.pieces
        return len(requirements)


planning, begin, number = Planning(), time.monotonic(), 0
while True:
    while number < (time.monotonic() - begin) * ORDERS_PER_SECOND:
        planning.plan_order(number)
        number += 1
    time.sleep(0.02)
