# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests and the benchmarks stand on. Python's standard library only.

Everything made here is ours to remove: cgroups and mounts by the path we made, processes by the
pid we started. Nothing is found by name.
"""


class Closeable:
    """What has a close(): also as a context."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
