# SPDX-License-Identifier: Apache-2.0
"""Many OOM kills at once, each in a cgroup of its own."""
import os
import select
import subprocess
import time

from . import Closeable, tools
from .wait import NotInTime


def program():
    source = os.path.join(tools.WORKLOADS, "oom_storm.c")
    target = os.path.join(tools.CACHE, "workloads/oom_storm")
    return tools._build(target, [source], ["gcc", "-O1", "-static", "-o", target, source])


def victim(megabytes):
    """Small and quick: 0.7 MB until it is released."""
    return [program(), "victim", str(megabytes)]


class Storm(Closeable):
    """One process of `argv` in each of `boxes`, waiting until release(); per_second 0: all at once."""

    def __init__(self, boxes, argv, per_second=0):
        self.boxes = boxes
        self.process = subprocess.Popen([program(), "run", str(per_second), *argv], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            self._say("".join(box.procs_file() + "\n" for box in boxes) + "\n")
            self._answer("ready", 60)
        except BaseException:
            self.close()
            raise

    def _say(self, text):
        self.process.stdin.write(text.encode(errors="surrogateescape"))
        self.process.stdin.flush()

    def _answer(self, word, deadline_s):
        end = time.monotonic() + deadline_s
        if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
            raise NotInTime(f"oom_storm did not say {word!r} within {deadline_s} s")
        line = self.process.stdout.readline().decode()
        if not line.startswith(word):
            raise AssertionError(f"oom_storm said {line!r} instead of {word!r}")
        return line

    def release(self):
        self._say("go\n")

    def wait_over(self, deadline_s=120):
        """(killed, ended otherwise, seconds from the release to the last one's end)."""
        words = self._answer("killed", deadline_s).split()
        return int(words[1]), int(words[3]), float(words[5])

    def close(self):
        """The victims that still wait read the end of their pipe and leave."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
