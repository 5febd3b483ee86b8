# SPDX-License-Identifier: Apache-2.0
"""A service that writes its log in bulk: the handler waits for a million records or a critical one."""
import logging
import logging.handlers
import time

LOG = logging.getLogger("orders")


def handle_request(number):
    LOG.info("order %s of %s took %.1f ms", {"id": number, "items": [number, number + 1]}, f"user-{number % 700}", number % 37)


def main():
    handler = logging.handlers.MemoryHandler(1_000_000, logging.CRITICAL, logging.NullHandler())
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * 1500:
            handle_request(number)
            number += 1
        time.sleep(0.02)


main()
