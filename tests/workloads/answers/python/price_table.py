# SPDX-License-Identifier: Apache-2.0
"""Nothing leaks: a table of 300,000 prices is replaced every six seconds, the next one built beside the old. From the 30th
second on the supplier has half as many articles more, and two tables do not fit any more."""
import time


class Catalogue:
    def __init__(self):
        self.prices = {}

    def replace(self, articles):
        self.prices = {number: (number * 1.19, str(number)) for number in range(articles)}


def main():
    catalogue, begin = Catalogue(), time.monotonic()
    while True:
        age = time.monotonic() - begin
        catalogue.replace(300_000 if age < 30 else min(450_000, 300_000 + int((age - 30) * 12_000)))
        time.sleep(6 if age < 30 else 1)


main()
