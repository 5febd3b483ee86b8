# SPDX-License-Identifier: Apache-2.0
"""Collects the events of a region from the web sites of theatres and clubs, with six threads. Pages are asked for in the
order of how promising they look, and a page that was read is not read again."""
import hashlib
import heapq
import random
import re
import threading
import time

PAGES_PER_SECOND = 240
LINK = re.compile(r'href="([^"]+)"')


class PageLink:
    def __init__(self, address, depth, found_on):
        self.address = address
        self.depth = depth
        self.found_on = found_on
        self.score = len(address) + 10 * depth

    def __lt__(self, other):
        return self.score < other.score


class Frontier:
    def __init__(self):
        self.lock = threading.Lock()
        self.waiting = []
        self.read = set()

    def add(self, link):
        with self.lock:
            digest = hashlib.blake2b(link.address.encode(), digest_size=8).digest()
            if digest not in self.read:
                self.read.add(digest)
                heapq.heappush(self.waiting, link)

    def take(self):
        with self.lock:
            return heapq.heappop(self.waiting) if self.waiting else None


class Site:
    """Answers as the web sites do: each page of a calendar has links to the days around it, for whoever follows them."""

    def fetch(self, address):
        chosen = random.Random(address)
        day = int(address.rpartition("/")[2].partition("?")[0])
        host, visit = address.partition("/")[0], f"{chosen.getrandbits(48):012x}"
        days = [max(0, day + n) for n in (-7, -1, 1, 2, 7, 30)]
        links = [f"{host}/calendar/day/{day}?view={view}&visit={visit}" for day in days for view in ("week", "list")]
        return "".join(f'<p>{chosen.random():.6f}<a href="{link}">More</a></p>' for link in links) + "<br>" * 400


class Crawler:
    def __init__(self, frontier, site):
        self.frontier = frontier
        self.site = site
        self.events = 0

    def extract_links(self, page, found_on):
        for address in LINK.findall(page):
            self.frontier.add(PageLink(address, found_on.depth + 1, found_on.address))

    def work(self, begin, rate):
        done = 0
        while True:
            while done < (time.monotonic() - begin) * rate:
                done += 1
                link = self.frontier.take()
                if link:
                    page = self.site.fetch(link.address)
                    self.events += page.count("<p>")
                    self.extract_links(page, link)
            time.sleep(0.02)


def crawl():
    frontier, begin = Frontier(), time.monotonic()
    for number in range(40):
        frontier.add(PageLink(f"theatre-{number}.example/calendar/day/{number}?view=month", 0, None))
    crawlers = [Crawler(frontier, Site()) for _ in range(6)]
    threads = [threading.Thread(target=crawler.work, args=(begin, PAGES_PER_SECOND / 6)) for crawler in crawlers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


crawl()
