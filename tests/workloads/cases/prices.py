# SPDX-License-Identifier: Apache-2.0
# Case 18, the container that starts next: a small service with a bounded cache, and no file of its own.
import collections, time
class PriceCache:
    def __init__(self, most): self.most, self.entries = most, collections.OrderedDict()
    def put(self, key, value):
        self.entries[key] = value
        if len(self.entries) > self.most: self.entries.popitem(last=False)
CACHE = PriceCache(40000)
n = 0
while True:
    for _ in range(60):
        CACHE.put("item-%d" % n, {"price": n * 1.07, "text": "x" * 400 + str(n)}); n += 1
    time.sleep(0.05)
