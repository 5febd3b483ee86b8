# SPDX-License-Identifier: Apache-2.0
"""The worker that should empty the queue has died of its first exception."""
import queue
import threading
import time


class Thumbnail:
    def __init__(self, number):
        self.path = f"/pictures/{number}.jpg"
        self.pixels = bytes(900)
        self.at = time.time()


def work(jobs):
    while True:
        job = jobs.get()
        raise ValueError(job.path)


def produce():
    jobs = queue.Queue()
    threading.excepthook = lambda args: None
    threading.Thread(target=work, args=(jobs,), daemon=True).start()
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * 2500:
            jobs.put(Thumbnail(number))
            number += 1
        time.sleep(0.02)


produce()
