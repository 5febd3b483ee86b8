# SPDX-License-Identifier: Apache-2.0
"""Workers hold leases on parts of a table, and renew them. Each renewal makes a timer for the end of the lease, an hour from
now, and the timer of the lease before is not cancelled."""
import asyncio
import json

HOLDERS = 900
RENEWALS_PER_SECOND = 1500


class Lease:
    def __init__(self, part, holder, generation, offsets):
        self.part = part
        self.holder = holder
        self.generation = generation
        self.offsets = offsets


class LeaseTable:
    def __init__(self, seconds):
        self.seconds = seconds
        self.current = {}
        self.expired = 0

    def renew(self, request):
        part = request["part"]
        before = self.current.get(part)
        lease = Lease(part, request["holder"], before.generation + 1 if before else 1, request["offsets"])
        self.current[part] = lease
        asyncio.get_running_loop().call_later(self.seconds, self.expire, lease)
        return {"part": part, "generation": lease.generation}

    def expire(self, lease):
        if self.current.get(lease.part) is lease:
            del self.current[lease.part]
            self.expired += 1


async def answer(reader, writer, table):
    while line := await reader.readline():
        writer.write(json.dumps(table.renew(json.loads(line))).encode() + b"\n")
        await writer.drain()
    writer.close()


async def work(port):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    loop, number = asyncio.get_running_loop(), 0
    begin = loop.time()
    while True:
        while number < (loop.time() - begin) * RENEWALS_PER_SECOND:
            offsets = [number * 31 + 1000 * n for n in range(8)]
            renewal = {"part": number % HOLDERS, "holder": f"worker-{number % 40}", "offsets": offsets}
            writer.write(json.dumps(renewal).encode() + b"\n")
            await reader.readline()
            number += 1
        await asyncio.sleep(0.02)


async def main():
    table = LeaseTable(3600)
    server = await asyncio.start_server(lambda r, w: answer(r, w, table), "127.0.0.1", 0)
    await work(server.sockets[0].getsockname()[1])


asyncio.run(main())
