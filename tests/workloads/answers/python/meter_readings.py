# SPDX-License-Identifier: Apache-2.0
"""Four threads receive the readings of meters, a fifth writes them to an archive, which is slower than they are."""
import queue
import threading
import time
import zlib

READINGS_PER_SECOND = 450  # of each receiver
BATCH = 100


class Reading:
    def __init__(self, meter, at, registers):
        self.meter = meter
        self.at = at
        self.registers = registers


class ArchiveWriter(threading.Thread):
    def __init__(self):
        super().__init__(daemon=True)
        self.backlog = queue.Queue()
        self.written = 0

    def run(self):
        while True:
            batch = [self.backlog.get() for _ in range(BATCH)]
            self.written += len(zlib.compress("\n".join(f"{r.meter};{r.at};{r.registers}" for r in batch).encode()))
            time.sleep(0.15)  # the archive's commit


def receive(writer, receiver):
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * READINGS_PER_SECOND:
            meter = f"DE-{receiver}-{number * 31 % 80_000:06}"
            registers = {f"1.8.{n}": number * 0.25 + n for n in range(6)}
            writer.backlog.put(Reading(meter, time.time(), registers))
            number += 1
        time.sleep(0.02)


archive = ArchiveWriter()
archive.start()
receivers = [threading.Thread(target=receive, args=(archive, number)) for number in range(4)]
for thread in receivers:
    thread.start()
for thread in receivers:
    thread.join()
