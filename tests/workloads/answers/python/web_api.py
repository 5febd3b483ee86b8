# SPDX-License-Identifier: Apache-2.0
"""A small service whose answers are forgotten: its memory stays as it is."""
import json
import time

PRODUCTS = {number: {"name": f"product {number}", "price": number * 1.19} for number in range(150_000)}


def answer(number):
    return json.dumps([PRODUCTS[(number + n) % len(PRODUCTS)] for n in range(200)])


while True:
    answer(int(time.monotonic() * 50))
    time.sleep(0.02)
