# SPDX-License-Identifier: Apache-2.0
"""Asks a fare system on a message bus. Answers find their question by a number; a question whose answer is late stays."""
import asyncio
import random

QUESTIONS_PER_SECOND = 800


class PendingCall:
    def __init__(self, number, question):
        self.number = number
        self.question = question
        self.answer = asyncio.get_running_loop().create_future()
        self.fares = None


class FareClient:
    def __init__(self, seed):
        self.pending = {}
        self.delays = random.Random(seed)

    async def ask(self, number, question):
        call = PendingCall(number, question)
        self.pending[number] = call
        late = self.delays.random() < 0.3
        asyncio.get_running_loop().call_later(0.4 if late else 0.05, self.answered, number)
        fares = await asyncio.wait_for(call.answer, 0.2)
        del self.pending[number]
        return fares

    def answered(self, number):
        call = self.pending[number]
        call.fares = [{"class": letter, "cents": (number * 7919 + place) % 90_000} for place, letter in enumerate("YBMHQ")]
        if not call.answer.done():
            call.answer.set_result(call.fares)


async def search(client, number):
    passengers = [{"name": f"passenger {number}-{n}", "age": (number + 11 * n) % 90} for n in range(8)]
    try:
        return min(fare["cents"] for fare in await client.ask(number, {"from": "BER", "to": "LIS", "passengers": passengers}))
    except asyncio.TimeoutError:
        return None


async def main():
    client, loop, tasks, number = FareClient(62), asyncio.get_running_loop(), set(), 0
    begin = loop.time()
    while True:
        while number < (loop.time() - begin) * QUESTIONS_PER_SECOND:
            task = loop.create_task(search(client, number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            number += 1
        await asyncio.sleep(0.02)


asyncio.run(main())
