# SPDX-License-Identifier: Apache-2.0
"""Nothing leaks: three workers, each with a model of its own. From the 30th second on there is more to do: each worker
has up to forty requests in progress instead of four, which three models leave no room for."""
import collections
import os
import random
import time


class Model:
    def __init__(self, rows):
        self.weights = {row: [random.random() for _ in range(12)] for row in range(rows)}


class InferenceRequest:
    def __init__(self, model):
        self.features = [model.weights[n * 7][n % 12] * n for n in range(1000)]
        self.scores = [value * 2.5 for value in self.features * 12]


def serve(begin):
    model, in_progress = Model(26_000), collections.deque()
    while True:
        age = time.monotonic() - begin
        most = 4 if age < 30 else min(40, 4 + (age - 30) * 1.4)
        in_progress.append(InferenceRequest(model))
        while len(in_progress) > most:
            in_progress.popleft()
        time.sleep(0.05)


def main():
    begin = time.monotonic()
    for _ in range(3):
        if os.fork() == 0:
            serve(begin)
        time.sleep(1.5)
    os.wait()


main()
