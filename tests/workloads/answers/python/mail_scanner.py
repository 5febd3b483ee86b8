# SPDX-License-Identifier: Apache-2.0
"""Four threads of a pool look for bad attachments. What a thread found is to be reported with the message; each thread has a
context of its own for it, which starts empty with the thread, not with the message."""
import concurrent.futures
import random
import re
import threading
import time

MESSAGES_PER_SECOND = 320
SUSPECT = re.compile(r"(invoice|parcel|account)-(\d+)\.(exe|js|iso)")


class Finding:
    def __init__(self, message, name, offset, excerpt):
        self.message = message
        self.name = name
        self.offset = offset
        self.excerpt = excerpt


class ScanContext(threading.local):
    def __init__(self):
        self.findings = []
        self.scanned = 0


context = ScanContext()


def scan_message(number, text):
    for match in SUSPECT.finditer(text):
        excerpt = text[max(0, match.start() - 60):match.end() + 60]
        context.findings.append(Finding(number, match.group(), match.start(), excerpt))
    context.scanned += 1
    return any(finding.name.endswith("exe") for finding in context.findings[-12:])


def message(chosen, number):
    parts = []
    for n in range(18):
        kind = chosen.choice(("invoice", "parcel", "account"))
        parts.append(f"dear customer {number}, please open {kind}-{chosen.randrange(10 ** 6)}.{chosen.choice(('exe', 'js', 'pdf'))}")
    return "\n".join(parts)


def main():
    chosen, waiting, begin, number = random.Random(504), [], time.monotonic(), 0
    with concurrent.futures.ThreadPoolExecutor(4, "scan") as pool:
        while True:
            while number < (time.monotonic() - begin) * MESSAGES_PER_SECOND:
                waiting.append(pool.submit(scan_message, number, message(chosen, number)))
                number += 1
            for done in waiting:
                done.result()
            waiting.clear()
            time.sleep(0.02)


main()
