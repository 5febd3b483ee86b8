# SPDX-License-Identifier: Apache-2.0
"""Healthy: an LRU cache that is full after 15 seconds, reports that come and go, and sessions that end after six seconds.
From the 25th second on there are half as many sessions more."""
import collections
import functools
import time


class Session:
    def __init__(self, number):
        self.user, self.basket = f"user-{number}", [number + item for item in range(60)]


@functools.lru_cache(maxsize=6000)
def render_page(number):
    return f"page {number} ".ljust(2500, "-")


def write_report(rows):
    return len([f"row {row}".ljust(100) for row in range(rows)])


def main():
    sessions, begin, number, reports = collections.deque(), time.monotonic(), 0, 0
    while True:
        age = time.monotonic() - begin
        while number < age * 700 + max(0.0, age - 25) * 350:
            sessions.append((age, Session(number)))
            render_page(number * 7919 % 15000)
            number += 1
        while sessions and sessions[0][0] < age - 6:
            sessions.popleft()
        if age > reports * 5:
            write_report(60_000)
            reports += 1
        time.sleep(0.02)


main()
