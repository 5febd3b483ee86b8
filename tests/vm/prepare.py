#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Builds what the e2e tests run on other kernels, where a compiler would take minutes. What cannot be had is reported, and
its tests skip with the same reason."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "e2e"))
from harness import tools  # noqa: E402

GO_PROGRAMS = [("1.19", "strip"), ("1.19", "plain", "go-hostile"), ("1.19", "strip-nopprof", "go-hostile"),
               ("1.26", "pie-strip"), ("1.26", "strip"),
               # of the bpf suite
               ("1.26", "strip", "go-heap"), ("1.19", "pie-strip", "go-heap"), ("1.27", "plain", "go-heap")]


def main():
    simple = ("leaky_go", "memhog", "threadhog", "filehog", "retention", "sessions", "rust_sessions", "java_workload")
    builds = [getattr(tools, name) for name in simple if hasattr(tools, name)]
    builds += [lambda: tools.java_case("QueueOfAnExecutor"), lambda: tools.java_case("OrdersNeverReleased", tools.netty_jars()),
               lambda: tools.supplied("collector_build.sh", "1.27", "pprof")]
    builds += [lambda p=program: tools.go_program(*p) for program in GO_PROGRAMS]
    for build in builds:
        try:
            build()
        except (unittest.SkipTest, OSError, subprocess.CalledProcessError) as e:
            print(f"vm: {e}", flush=True)


if __name__ == "__main__":
    main()
