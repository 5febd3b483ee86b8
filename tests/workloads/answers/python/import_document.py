# SPDX-License-Identifier: Apache-2.0
"""An import service: documents of a few thousand entries for 20 seconds, each forgotten; then one of two million."""
import json
import time


def document(entries):
    return "[" + ",".join('{"sku":%d,"price":%d.5,"name":"article %d"}' % (n, n, n) for n in range(entries)) + "]"


def import_document(text):
    articles = json.loads(text)
    return sum(article["price"] for article in articles)


def main():
    begin = time.monotonic()
    while time.monotonic() - begin < 20:
        import_document(document(8000))
        time.sleep(0.5)
    import_document(document(2_000_000))


main()
