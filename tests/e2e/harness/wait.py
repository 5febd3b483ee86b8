# SPDX-License-Identifier: Apache-2.0
"""Waiting for facts instead of for time, and the failures that have a class of their own (tests/outcomes.py)."""
import contextlib
import os
import time

# Generous: the machine may be building something else, and a kill may follow its limit late.
DEADLINE_S = 60.0
# Every deadline grows by it: an emulated CPU is ten times slower than ours.
TIME_FACTOR = float(os.environ.get("OOMW_TIME_FACTOR", "1"))


class NotInTime(AssertionError):
    """A wait ran out."""
    failure_class = "late"


class LostKill(AssertionError):
    """A kill or a count is missing: no load excuses it, and no second run."""
    failure_class = "lost"


class Crashed(AssertionError):
    """oomwitness ended by a signal that nobody sent."""
    failure_class = "crash"


@contextlib.contextmanager
def lost_if_it_fails():
    """For comparisons with what the kernel counted; also where it is their wait that runs out."""
    try:
        yield
    except (LostKill, Crashed):
        raise
    except AssertionError as e:
        raise LostKill(str(e)) from e


def eventually(probe, what, deadline_s=DEADLINE_S, every_s=0.02):
    """Calls probe until it returns something true, which is returned. deadline_s is that of a machine in order; so is
    every_s: on one emulated CPU a check 50 times a second is most of the load."""
    deadline_s *= TIME_FACTOR
    every_s *= TIME_FACTOR
    end = time.monotonic() + deadline_s
    while True:
        value = probe()
        if value:
            return value
        if time.monotonic() > end:
            text = what() if callable(what) else what
            raise NotInTime(f"not within {deadline_s:.0f} s: {text}")
        time.sleep(every_s)
