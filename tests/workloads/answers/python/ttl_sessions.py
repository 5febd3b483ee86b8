# SPDX-License-Identifier: Apache-2.0
"""Healthy: sessions end after eight seconds; how many begin goes up and down with the hour of the day."""
import collections
import math
import time


class Session:
    def __init__(self, number):
        self.user = f"user-{number}"
        self.basket = [{"sku": number + n, "count": n} for n in range(8)]


class SessionStore:
    def __init__(self):
        self.by_token, self.by_age = {}, collections.deque()

    def begin(self, number, now):
        self.by_token[number] = Session(number)
        self.by_age.append((now + 8, number))

    def expire(self, now):
        while self.by_age and self.by_age[0][0] < now:
            del self.by_token[self.by_age.popleft()[1]]


def main():
    store, begin, number, due = SessionStore(), time.monotonic(), 0, 0.0
    before = begin
    while True:
        now = time.monotonic()
        due += (now - before) * 1500 * (1 + 0.3 * math.sin((now - begin) / 4))
        before = now
        while number < due:
            store.begin(number, now)
            number += 1
        store.expire(now)
        time.sleep(0.02)


main()
