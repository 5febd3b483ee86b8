# SPDX-License-Identifier: Apache-2.0
"""Moves money between accounts, many transfers at once in one event loop. Two transfers of the same account wait for each
other, and an account that asks too often is slowed down."""
import asyncio
import collections
import random
import time

TRANSFERS_PER_SECOND = 800
ACCOUNTS = 5_000_000


class AccountGuard:
    def __init__(self):
        self.lock = asyncio.Lock()
        self.attempts = collections.deque([time.monotonic()], maxlen=8)
        self.waits = 0

    async def enter(self):
        now = time.monotonic()
        if len(self.attempts) == 8 and now - self.attempts[0] < 1:
            self.waits += 1
            await asyncio.sleep(0.2)
        self.attempts.append(now)
        await self.lock.acquire()

    def leave(self):
        self.lock.release()


class TransferDesk:
    def __init__(self):
        self.guards = collections.defaultdict(AccountGuard)
        self.balances = [0] * 1000
        self.done = 0

    async def transfer(self, payer, payee, cents):
        first, second = sorted((f"account-{payer:08d}", f"account-{payee:08d}"))
        await self.guards[first].enter()
        try:
            if second != first:
                await self.guards[second].enter()
            try:
                await asyncio.sleep(0.01)  # the ledger writes
                self.balances[payer % 1000] -= cents
                self.balances[payee % 1000] += cents
                self.done += 1
            finally:
                if second != first:
                    self.guards[second].leave()
        finally:
            self.guards[first].leave()


async def main():
    desk, chosen, begin, number, running = TransferDesk(), random.Random(602), time.monotonic(), 0, set()
    while True:
        while number < (time.monotonic() - begin) * TRANSFERS_PER_SECOND:
            payer, payee = chosen.randrange(ACCOUNTS), chosen.randrange(ACCOUNTS)
            task = asyncio.create_task(desk.transfer(payer, payee, chosen.randrange(90_000)))
            running.add(task)
            task.add_done_callback(running.discard)
            number += 1
        await asyncio.sleep(0.02)


asyncio.run(main())
