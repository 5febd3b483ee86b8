# SPDX-License-Identifier: Apache-2.0
"""A report service: small exports for 17 seconds, each given back; then somebody asks for a whole year at once."""
import time

ROW_BYTES = 32 << 10


def load_rows(megabytes):
    return [bytearray(b"x" * ROW_BYTES) for _ in range(megabytes * (1 << 20) // ROW_BYTES)]


def export_report(megabytes):
    rows = load_rows(megabytes)
    return len(b"".join(rows))


def main():
    begin = time.monotonic()
    while time.monotonic() - begin < 17:
        export_report(10)
        time.sleep(0.7)
    export_report(400)


main()
