# SPDX-License-Identifier: Apache-2.0
"""Imports the catalogues of suppliers, which come as XML. A catalogue is read, its articles are compared with those that
are for sale, and changed prices are counted."""
import io
import random
import time
import xml.etree.ElementTree as ElementTree

FEEDS_PER_SECOND = 4
WHOLESALER_COMES_AFTER = 26


class ArticleTable:
    def __init__(self, count):
        self.prices = [100 + number % 900 for number in range(count)]
        self.changed = 0

    def compare(self, number, price):
        place = number % len(self.prices)
        if self.prices[place] != price:
            self.prices[place] = price
            self.changed += 1


def article_lines(supplier, count):
    chosen = random.Random(supplier)
    yield b"<catalogue>"
    for number in range(count):
        yield (f'<article number="{supplier * 1000 + number}" unit="piece"><title>Article {number} of supplier {supplier}</title>'
               f'<price currency="EUR">{chosen.randrange(100, 1000)}</price><stock>{chosen.randrange(50)}</stock>'
               f'<weight>{chosen.randrange(1, 90)}</weight></article>').encode()
    yield b"</catalogue>"


class FeedFile(io.RawIOBase):
    """Arrives over a slow line."""

    def __init__(self, supplier, count):
        self.lines = article_lines(supplier, count)

    def readable(self):
        return True

    def read(self, size=-1):
        piece, length = [], 0
        for line in self.lines:
            piece.append(line)
            length += len(line)
            if length >= 64 * 1024:
                time.sleep(0.012)
                break
        return b"".join(piece)


def parse_catalogue(feed):
    return ElementTree.parse(feed).getroot()


def import_supplier(table, supplier, count):
    catalogue = parse_catalogue(FeedFile(supplier, count))
    for article in catalogue.iter("article"):
        table.compare(int(article.get("number")), int(article.findtext("price")))


def run():
    table, begin, supplier, wholesaler = ArticleTable(200_000), time.monotonic(), 0, False
    while True:
        passed = time.monotonic() - begin
        if passed > WHOLESALER_COMES_AFTER and not wholesaler:
            wholesaler = True
            import_supplier(table, 9999, 400_000)
        while supplier < passed * FEEDS_PER_SECOND:
            import_supplier(table, supplier, 150)
            supplier += 1
        time.sleep(0.02)


run()
