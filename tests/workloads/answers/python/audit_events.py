# SPDX-License-Identifier: Apache-2.0
"""A service whose audit log object keeps each event until it is sent, and nothing ever sends it."""
import time

EVENTS_PER_SECOND = 14000


class AuditEvent:
    def __init__(self, number):
        self.number = number
        self.user = f"user-{number % 1000}"
        self.details = {"path": f"/orders/{number}", "status": 200, "took": number * 0.001}


class AuditLog:
    def __init__(self):
        self.pending = []

    def record(self, number):
        self.pending.append(AuditEvent(number))


class Service:
    def __init__(self):
        self.audit = AuditLog()

    def run(self):
        begin, number = time.monotonic(), 0
        while True:
            while number < (time.monotonic() - begin) * EVENTS_PER_SECOND:
                self.audit.record(number)
                number += 1
            time.sleep(0.02)


if __name__ == "__main__":
    Service().run()
