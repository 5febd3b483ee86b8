# SPDX-License-Identifier: Apache-2.0
"""Imports statements of banks, which send some lines twice. Lines that were seen are known by all that is in them, for ever,
though a line comes again within the same statement only."""
import csv
import io
import random
import time

LINES_PER_SECOND = 5000


def statement(chosen, number, lines):
    text = io.StringIO()
    writer = csv.writer(text, delimiter=";")
    for n in range(lines):
        row = [f"2026-{number % 12 + 1:02}-{n % 28 + 1:02}", f"DE{chosen.randrange(10 ** 20):020}",
               f"payment {number}/{n}", chosen.randrange(-90_000, 90_000)]
        writer.writerow(row)
        if chosen.random() < 0.05:
            writer.writerow(row)
    return text.getvalue()


def first_time():
    booked = {}

    def is_new(row):
        fingerprint = tuple(row)
        if fingerprint in booked:
            booked[fingerprint] += 1
            return False
        booked[fingerprint] = 1
        return True

    return is_new


class Importer:
    def __init__(self, accept):
        self.accept = accept
        self.balances = {}

    def run(self, text):
        for row in filter(self.accept, csv.reader(io.StringIO(text), delimiter=";")):
            account = row[1][-3:]
            self.balances[account] = self.balances.get(account, 0) + int(row[3])


def main():
    importer, chosen, begin, number = Importer(first_time()), random.Random(502), time.monotonic(), 0
    while True:
        while number * 250 < (time.monotonic() - begin) * LINES_PER_SECOND:
            importer.run(statement(chosen, number, 250))
            number += 1
        time.sleep(0.02)


main()
