# SPDX-License-Identifier: Apache-2.0
"""What happened is kept in SQLite, for the support desk to query. The database is in memory and nobody deletes old rows."""
import sqlite3
import time

EVENTS_PER_SECOND = 3500
database = sqlite3.connect(":memory:")
database.execute("CREATE TABLE events (number INTEGER PRIMARY KEY, at REAL, who TEXT, what TEXT)")


def record_event(number):
    what = f"GET /articles/{number}?page={number % 9} " + "x" * 600
    database.execute("INSERT INTO events VALUES (?, ?, ?, ?)", (number, time.time(), f"user {number % 5000}", what))


def main():
    begin, number = time.monotonic(), 0
    while True:
        while number < (time.monotonic() - begin) * EVENTS_PER_SECOND:
            record_event(number)
            number += 1
        database.commit()
        time.sleep(0.02)


main()
