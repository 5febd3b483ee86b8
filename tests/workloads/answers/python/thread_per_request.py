# SPDX-License-Identifier: Apache-2.0
"""A thread for each request; all wait for an upstream that never answers, each with the body it has read."""
import threading
import time

REQUESTS_PER_SECOND = 60
NEVER = threading.Event()


def call_upstream(body):
    NEVER.wait()
    return len(body)


def handle_request(number):
    body = bytearray(b"%06d" % number) * 12000
    call_upstream(body)


def main():
    threading.stack_size(256 << 10)
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * REQUESTS_PER_SECOND:
            threading.Thread(target=handle_request, args=(number,), daemon=True).start()
            number += 1
        time.sleep(0.02)


main()
