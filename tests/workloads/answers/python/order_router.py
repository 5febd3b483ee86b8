# SPDX-License-Identifier: Apache-2.0
"""Routes orders to the venues of an exchange over TCP, with asyncio. What a venue has not yet confirmed is kept, so that it
can be sent again when the connection was lost."""
import asyncio
import random
import time

ORDERS_PER_SECOND = 1400


class Outgoing:
    def __init__(self, sequence, order):
        self.sequence = sequence
        self.order = order
        self.sent_at = time.monotonic()
        self.text = "|".join(f"{field}={value}" for field, value in order.items())


class Recovery:
    """What is sent again after a reconnect."""

    def __init__(self):
        self.unconfirmed = {}

    def remember(self, outgoing):
        self.unconfirmed[outgoing.sequence] = outgoing

    def confirmed(self, sequence):
        self.unconfirmed.pop(sequence, None)


class Session:
    def __init__(self, reader, writer):
        self.reader = reader
        self.writer = writer
        self.recovery = Recovery()
        self.sequence = 0
        self.confirmations = 0

    def send_order(self, order):
        self.sequence += 1
        outgoing = Outgoing(self.sequence, order)
        self.recovery.remember(outgoing)
        self.writer.write(f"{outgoing.sequence} {outgoing.text}\n".encode())

    async def read_confirmations(self):
        while line := await self.reader.readline():
            sequence, _, state = line.decode().rstrip().partition(" ")
            if state == "accepted":
                self.recovery.confirmed(sequence)
                self.confirmations += 1


class Venue:
    def __init__(self, name):
        self.name = name
        self.session = None
        self.filled = 0

    async def serve(self, reader, writer):
        while line := await reader.readline():
            sequence, _, text = line.partition(b" ")
            self.filled += text.count(b"=")
            writer.write(sequence + b" accepted\n")

    async def open(self):
        server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        self.session = Session(*await asyncio.open_connection("127.0.0.1", port))
        return asyncio.create_task(self.session.read_confirmations())


class Router:
    def __init__(self, names):
        self.venues = {name: Venue(name) for name in names}

    def route(self, number, chosen):
        name = chosen.choice(list(self.venues))
        order = {"id": f"order-{number:09d}", "side": chosen.choice(["buy", "sell"]), "share": f"share-{chosen.randrange(4000)}",
                 "amount": chosen.randrange(1, 900), "price": round(chosen.uniform(1, 400), 2), "account": chosen.getrandbits(40)}
        self.venues[name].session.send_order(order)


async def run():
    router = Router(["north", "south", "harbour", "old-town"])
    readers = [await venue.open() for venue in router.venues.values()]
    chosen, begin, number = random.Random(702), time.monotonic(), 0
    while all(not reader.done() for reader in readers):
        while number < (time.monotonic() - begin) * ORDERS_PER_SECOND:
            router.route(number, chosen)
            number += 1
        await asyncio.sleep(0.02)


asyncio.run(run())
