# SPDX-License-Identifier: Apache-2.0
"""Holds short tests for school classes. A pupil gets shuffled questions with their answers, works on them for nine seconds,
and only the mark is kept. A second school begins its tests half a minute after the first."""
import collections
import random
import time

WORDS = ["river", "square", "capital", "angle", "mountain", "king", "acid", "verb", "fraction", "island"]


class Question:
    __slots__ = ("text", "choices", "right", "given")

    def __init__(self, number, chosen):
        self.text = f"Question {number}: which {chosen.choice(WORDS)} belongs to {chosen.choice(WORDS)} {chosen.randrange(900)}?"
        self.choices = [f"{chosen.choice(WORDS)} {chosen.randrange(900)}" for _ in range(5)]
        self.right = chosen.randrange(5)
        self.given = None


class Sitting:
    def __init__(self, pupil, now):
        chosen = random.Random(pupil)
        self.pupil = pupil
        self.ends = now + 9
        self.questions = [Question(number, chosen) for number in range(90)]

    def work(self, chosen):
        question = chosen.choice(self.questions)
        question.given = chosen.randrange(5)

    def mark(self):
        return sum(question.given == question.right for question in self.questions)


class ExamRoom:
    def __init__(self):
        self.sittings = collections.deque()
        self.marks = collections.Counter()
        self.chosen = random.Random(705)

    def start_sitting(self, pupil, now):
        self.sittings.append(Sitting(pupil, now))

    def tick(self, now):
        for _ in range(min(60, len(self.sittings))):
            self.chosen.choice(self.sittings).work(self.chosen)
        while self.sittings and self.sittings[0].ends < now:
            self.marks[self.sittings.popleft().mark()] += 1


def pupils_per_second(passed):
    return 95 if passed < 32 else min(160, 95 + (passed - 32) * 9)


def run():
    room, begin, due, pupil = ExamRoom(), time.monotonic(), 0.0, 0
    last = begin
    while True:
        now = time.monotonic()
        due += (now - last) * pupils_per_second(now - begin)
        last = now
        while pupil < due:
            room.start_sitting(pupil, now)
            pupil += 1
        room.tick(now)
        time.sleep(0.02)


run()
