# SPDX-License-Identifier: Apache-2.0
"""A reader of news feeds. Each poll is a task of a set, so that it is not collected early; nobody takes those that are
done out of it, and each keeps its result."""
import asyncio
import time

POLLS_PER_SECOND = 150


class Entry:
    def __init__(self, feed, number):
        self.title = f"entry {number} of feed {feed}"
        self.link = f"https://feeds.example/{feed}/{number}"


class Poller:
    def __init__(self):
        self.background = set()

    async def poll_feed(self, feed):
        await asyncio.sleep(0.05)
        return [Entry(feed, number) for number in range(40)]

    def schedule(self, feed):
        self.background.add(asyncio.create_task(self.poll_feed(feed)))


async def main():
    poller, begin, number = Poller(), time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * POLLS_PER_SECOND:
            poller.schedule(number % 300)
            number += 1
        await asyncio.sleep(0.02)


asyncio.run(main())
