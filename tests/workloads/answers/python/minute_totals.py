# SPDX-License-Identifier: Apache-2.0
"""Healthy: totals by path and minute, written out and forgotten every nine seconds."""
import time

REQUESTS_PER_SECOND = 9000
TOTALS = {}


def count(number):
    key = (number // 50, f"/articles/{number % 30_000}")
    calls, seconds = TOTALS.get(key, (0, 0.0))
    TOTALS[key] = (calls + 1, seconds + number % 17 * 0.01)


def flush():
    written = sum(calls for calls, _ in TOTALS.values())
    TOTALS.clear()
    return written


def main():
    begin, number, flushed = time.monotonic(), 0, time.monotonic()
    while True:
        while number < (time.monotonic() - begin) * REQUESTS_PER_SECOND:
            count(number)
            number += 1
        if time.monotonic() - flushed > 9:
            flush()
            flushed = time.monotonic()
        time.sleep(0.02)


main()
