# SPDX-License-Identifier: Apache-2.0
"""A worker that remembers each exception "for the report of tonight". Each holds its traceback, that the frames, and those
the message that could not be parsed."""
import time

JOBS_PER_SECOND = 900
FAILED = []


def parse_message(number):
    fields = [f"{number}:{position}" for position in range(40)]
    if number % 3 == 0:
        raise ValueError(f"message {number} has no end")
    return fields


def run_job(number):
    try:
        return len(parse_message(number))
    except ValueError as error:
        FAILED.append(error)
        return 0


def main():
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * JOBS_PER_SECOND * 3:
            run_job(number)
            number += 1
        time.sleep(0.02)


main()
