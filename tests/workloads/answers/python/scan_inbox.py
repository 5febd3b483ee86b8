# SPDX-License-Identifier: Apache-2.0
"""scan_inbox.py FOLDER: scanned letters wait in temporary files without a name until their text was read. What could not be
read is put aside for a human, whom nobody tells."""
import random
import sys
import tempfile
import time

SCANS_PER_SECOND = 9


class Scan:
    def __init__(self, number, folder):
        self.number = number
        self.file = tempfile.TemporaryFile(dir=folder)

    def receive(self, pages, noise):
        for _ in range(pages):
            self.file.write(noise.randbytes(64 << 10))
        self.file.flush()


class Inbox:
    def __init__(self, folder):
        self.folder = folder
        self.aside = []

    def receive_scan(self, number, noise):
        scan = Scan(number, self.folder)
        scan.receive(3 + number % 4, noise)
        if self.read_text(scan):
            scan.file.close()
        else:
            self.aside.append(scan)

    def read_text(self, scan):
        scan.file.seek(0)
        return scan.file.read(1)[0] % 3 == 0


def main():
    inbox, noise, begin, number = Inbox(sys.argv[1]), random.Random(65), time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * SCANS_PER_SECOND:
            inbox.receive_scan(number, noise)
            number += 1
        time.sleep(0.02)


main()
