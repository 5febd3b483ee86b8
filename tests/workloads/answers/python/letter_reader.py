# SPDX-License-Identifier: Apache-2.0
"""Reads scanned letters on four threads and finds their words and lines. Failed pages are counted, and the counts are printed
every ten seconds."""
import concurrent.futures
import random
import time

PAGES_PER_SECOND = 200
WORDS = ["invoice", "payment", "Monday", "contract", "delivery", "customer", "letter", "office", "regards", "enclosed"]


class PageText:
    __slots__ = ("page", "lines", "confidence")

    def __init__(self, page, lines, confidence):
        self.page = page
        self.lines = lines
        self.confidence = confidence


def read_page(page):
    chosen = random.Random(page)
    if chosen.random() < 0.01:
        raise ValueError(f"page {page} is upside down")
    lines = []
    for number in range(chosen.randrange(20, 40)):
        words = [chosen.choice(WORDS) for _ in range(7)]
        lines.append(f"{number:2d} {' '.join(words)}")
    return PageText(page, lines, chosen.random())


class Batch:
    def __init__(self, threads):
        self.pool = concurrent.futures.ThreadPoolExecutor(threads)
        self.submitted = []
        self.failures_seen = 0
        self.checked = 0

    def add(self, page):
        self.submitted.append(self.pool.submit(read_page, page))

    def count_failures(self):
        for future in self.submitted[self.checked:]:
            if not future.done():
                break
            self.checked += 1
            self.failures_seen += future.exception() is not None
        return self.failures_seen


class MailRoom:
    def __init__(self):
        self.batch = Batch(4)
        self.scanned = 0

    def scan(self, until):
        while self.scanned < until:
            self.batch.add(self.scanned)
            self.scanned += 1


room, begin, told = MailRoom(), time.monotonic(), 0
while True:
    passed = time.monotonic() - begin
    room.scan(passed * PAGES_PER_SECOND)
    if passed > told + 10:
        told = passed
        print(room.scanned, "pages,", room.batch.count_failures(), "failed", flush=True)
    time.sleep(0.02)
