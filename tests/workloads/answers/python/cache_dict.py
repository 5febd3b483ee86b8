# SPDX-License-Identifier: Apache-2.0
"""A shop that caches each rendered page by its whole URL: every visitor has another query, so no entry is used twice."""
import time

RENDERED = {}
PAGES_PER_SECOND = 300


def render_page(url):
    rows = [{"item": i, "title": f"{url} item {i}", "price": i * 1.19} for i in range(40)]
    RENDERED[url] = rows
    return rows


def serve():
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * PAGES_PER_SECOND:
            render_page(f"/shop?visitor={number}")
            number += 1
        time.sleep(0.02)


serve()
