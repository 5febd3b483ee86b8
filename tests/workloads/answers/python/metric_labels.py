# SPDX-License-Identifier: Apache-2.0
"""Counters by path, status and user: each user makes a new series, and no series is ever dropped."""
import collections
import time

REQUESTS_PER_SECOND = 9000
SERIES = collections.defaultdict(float)


def observe(path, status, user, seconds):
    SERIES[("http_request_seconds", path, status, user)] += seconds


def main():
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * REQUESTS_PER_SECOND:
            observe(f"/orders/{number % 50}", 200, f"user-{number:09}", number * 0.001)
            number += 1
        time.sleep(0.02)


main()
