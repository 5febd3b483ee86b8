# SPDX-License-Identifier: Apache-2.0
"""spool_exports.py FOLDER: each export is a file that somebody else is to fetch and remove; nobody does."""
import os
import sys
import time

EXPORTS_PER_SECOND = 20


def write_export(folder, number):
    with open(os.path.join(folder, f"export-{number}.csv"), "w", encoding="ascii") as f:
        f.write(f"order,{number}\n" * 11000)


def main():
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * EXPORTS_PER_SECOND:
            write_export(sys.argv[1], number)
            number += 1
        time.sleep(0.02)


main()
