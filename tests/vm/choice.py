#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""choice.py PART KERNEL: lines PATTERN<TAB>WHY; of bpf what of left_out.tsv is not run there, of another part what of chosen.tsv is."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def read(name):
    """The rows of a list; fields between tabs."""
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        return [line.rstrip("\n").split("\t") for line in f if line.strip() and not line.startswith("#")]


def left_out(kernel, rows=None):
    """[(pattern, reason)] of the bpf suite."""
    return [(pattern, reason) for pattern, kernels, reason in rows or read("left_out.tsv") if kernel not in kernels.split(",")]


def chosen(part, kernel, rows=None):
    """[(pattern, why)] of the tests that run there."""
    return [(pattern, why) for of, pattern, kernels, why in rows or read("chosen.tsv")
            if of == part and (kernels == "all" or kernel in kernels.split(","))]


if __name__ == "__main__":
    for row in left_out(sys.argv[2]) if sys.argv[1] == "bpf" else chosen(*sys.argv[1:3]):
        print("\t".join(row))
