# SPDX-License-Identifier: Apache-2.0
"""Calls wait for an answer that never comes: a task each, with what it wanted to send."""
import asyncio
import time


async def call_backend(number, answer):
    payload = [f"field {i} of call {number}" for i in range(40)]
    await answer
    return payload


async def main():
    loop, begin, number, calls = asyncio.get_running_loop(), time.monotonic(), 0, []
    while True:
        while number < (time.monotonic() - begin) * 400:
            calls.append(asyncio.ensure_future(call_backend(number, loop.create_future())))
            number += 1
        await asyncio.sleep(0.02)


asyncio.run(main())
