# SPDX-License-Identifier: Apache-2.0
"""Nothing leaks: a catalogue of 70 MiB is loaded in 6 s and kept, requests give back all they take, and after 26 s the
evening's requests are larger than the limit has room for."""
import time

CATALOGUE = {}
LOAD_SECONDS, EVENING_AFTER = 6.0, 26.0
ARTICLES = 33000


def load_catalogue(begin):
    while len(CATALOGUE) < ARTICLES:
        while len(CATALOGUE) < min(ARTICLES, (time.monotonic() - begin) / LOAD_SECONDS * ARTICLES):
            CATALOGUE[len(CATALOGUE)] = f"article {len(CATALOGUE)} ".ljust(2100, ".")
        time.sleep(0.02)


def answer_request(megabytes):
    pages = [bytearray(64 << 10) for _ in range(megabytes * 16)]
    time.sleep(0.2)
    return len(pages)


def main():
    begin = time.monotonic()
    load_catalogue(begin)
    while True:
        since_evening = time.monotonic() - begin - EVENING_AFTER
        answer_request(5 + (int(since_evening * 2) if since_evening > 0 else 0))


main()
