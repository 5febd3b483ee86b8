# SPDX-License-Identifier: Apache-2.0
# A batch job: a pool of threads is slower than the source, and imap reads the whole source ahead of it.
import time, random
from multiprocessing.pool import ThreadPool

class Document:
    def __init__(self, number, text):
        self.number, self.text = number, text

def read_documents():            # an object store that gives 4 MB a second
    n = 0
    while True:
        yield Document(n, "%d " % n + "".join(random.choices("etaoin shrdlu", k=120)) * 70)
        n += 1
        time.sleep(0.0022)

def classify(document):          # the slow model
    time.sleep(0.08)
    return document.number, len(document.text)

def main():
    with ThreadPool(4) as pool:
        for number, score in pool.imap_unordered(classify, read_documents()):
            pass
main()
