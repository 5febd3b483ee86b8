#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""choice.py SUITE KERNEL: what of left_out.tsv holds there, as lines PATTERN<TAB>REASON."""
import os
import sys

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "left_out.tsv")


def read(path=LIST):
    """[(suite, pattern, kernels, reason)]"""
    with open(path, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]
    return [(suite, pattern, set(kernels.split(",")) - {"-"}, reason) for suite, pattern, kernels, reason in rows]


def left_out(suite, kernel, rows=None):
    return [(pattern, reason) for of, pattern, kernels, reason in rows or read() if of == suite and kernel not in kernels]


if __name__ == "__main__":
    for row in left_out(*sys.argv[1:3]):
        print("\t".join(row))
