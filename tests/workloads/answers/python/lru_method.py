# SPDX-License-Identifier: Apache-2.0
"""lru_cache(maxsize=None) on a method: each quote ever computed stays, with its schedule of rates."""
import functools
import time

QUOTES_PER_SECOND = 1500


class Pricing:
    def __init__(self, base):
        self.base = base

    @functools.lru_cache(maxsize=None)
    def quote(self, customer, day):
        return [self.base + customer * 0.01 + day + hour for hour in range(96)]


def main():
    pricing = Pricing(10.0)
    begin, number, total = time.monotonic(), 0, 0.0
    while True:
        while number < (time.monotonic() - begin) * QUOTES_PER_SECOND:
            total += pricing.quote(number, number % 365)[-1]
            number += 1
        time.sleep(0.02)


main()
