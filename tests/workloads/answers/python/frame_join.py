# SPDX-License-Identifier: Apache-2.0
"""Tables by columns: those of an hour are joined and forgotten, for 22 seconds; then those of the quarter."""
import array
import time


class Frame:
    def __init__(self, rows, columns):
        self.columns = {f"column {n}": array.array("d", bytes(8 * rows)) for n in range(columns)}
        self.rows = rows


def join_frames(left, right):
    joined = Frame(0, 0)
    for frame in (left, right):
        for name, column in frame.columns.items():
            joined.columns[f"{id(frame)} {name}"] = array.array("d", (column[-1 - row] for row in range(frame.rows)))
    return joined


def main():
    begin = time.monotonic()
    while time.monotonic() - begin < 22:
        join_frames(Frame(20_000, 4), Frame(20_000, 4))
        time.sleep(0.3)
    join_frames(Frame(1_500_000, 4), Frame(1_500_000, 4))


main()
