#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""disk_stress.py FILE FILE_MB: overwrites FILE with fsync after each piece and reads it back, in a container too small to
cache it: the disk's queue is full and so is the container's reclaim."""
import os
import sys

PIECE = 1 << 20


def main():
    path, pieces = sys.argv[1], int(sys.argv[2])
    data = os.urandom(PIECE)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    print("ready", flush=True)
    while True:
        for number in range(pieces):
            os.pwrite(fd, data, number * PIECE)
            os.fdatasync(fd)
        for number in range(pieces):
            os.pread(fd, PIECE, number * PIECE)


if __name__ == "__main__":
    main()
