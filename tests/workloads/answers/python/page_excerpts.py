# SPDX-License-Identifier: Apache-2.0
"""A crawler keeps the first 600 bytes of each page. It reads a round of pages into buffers and then cuts them; the pages of
each site are larger than those of the site before, so they fit into none of the gaps behind the excerpts."""
import time

PAGES = 400
EXCERPTS = []


def read_round(page_bytes):
    pages = [bytearray(b"<p>" * (page_bytes // 3)) for _ in range(PAGES)]
    for page in pages:
        del page[600:]
    EXCERPTS.extend(pages)


def main():
    page_bytes = 2000
    while True:
        read_round(page_bytes)
        page_bytes += 900
        time.sleep(1.5)


main()
