#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fetches and builds all that a node needs; exits 3 with the reason where something cannot be had."""
import os
import sys
import unittest

_TESTS = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(_TESTS, "e2e"), os.path.join(_TESTS, "cluster")]
from harness import image  # noqa: E402
from kube import case, programs, witness  # noqa: E402


def main():
    try:
        if programs.why_not():
            raise unittest.SkipTest(programs.why_not())
        programs.fetch_all()
        for archive in (case.victim_image(), case.pause_image()):
            os.unlink(archive)
        image.oomwitness_archive(witness.IMAGE)
    except unittest.SkipTest as e:
        print(f"cluster: {e}", file=sys.stderr)
        sys.exit(3)


if __name__ == "__main__":
    main()
