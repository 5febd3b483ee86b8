# SPDX-License-Identifier: Apache-2.0
"""A chat server: a task for each client waits for its next message. Clients that go away without a goodbye stay."""
import asyncio
import time

CLIENTS_PER_SECOND = 500


class Client:
    def __init__(self, number):
        self.name = f"guest-{number}"
        self.inbox = asyncio.Queue()
        self.receive_buffer = bytearray(4000)


class Hub:
    def __init__(self):
        self.clients = {}

    async def serve_client(self, number):
        client = Client(number)
        self.clients[number] = client
        while message := await client.inbox.get():
            client.receive_buffer[:] = message
        del self.clients[number]


async def main():
    hub, tasks = Hub(), set()
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * CLIENTS_PER_SECOND:
            tasks.add(asyncio.create_task(hub.serve_client(number)))
            number += 1
        await asyncio.sleep(0.02)


asyncio.run(main())
