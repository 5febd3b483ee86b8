# SPDX-License-Identifier: Apache-2.0
"""Nothing leaks: a request keeps the offers that it has read until its upstream has checked them, which takes 2 s. From the
25th second on the upstream becomes slower, up to 9 s, so more and more requests wait at once."""
import asyncio
import time

REQUESTS_PER_SECOND = 60
begin = time.monotonic()


class Offer:
    __slots__ = ("shop", "article", "price", "days")

    def __init__(self, number):
        self.shop = f"shop {number % 700}"
        self.article = f"article {number}"
        self.price = number * 0.37
        self.days = number % 11 + 0.5


async def check_offers(offers):
    age = time.monotonic() - begin
    await asyncio.sleep(2 if age < 25 else min(9.0, 2 + (age - 25) * 0.2))
    return min(offer.price for offer in offers)


async def search_offers(number):
    offers = [Offer(number * 31 + n) for n in range(600)]
    return await check_offers(offers)


async def main():
    number, open_requests = 0, set()
    while True:
        while number < (time.monotonic() - begin) * REQUESTS_PER_SECOND:
            task = asyncio.ensure_future(search_offers(number))
            open_requests.add(task)
            task.add_done_callback(open_requests.discard)
            number += 1
        await asyncio.sleep(0.02)


asyncio.run(main())
