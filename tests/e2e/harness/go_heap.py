# SPDX-License-Identifier: Apache-2.0
"""The base of the tests of Go heaps: victims, and the checks of the walk in their incidents."""
import os

from . import pprof, tools
from .case import E2eTest
from .wait import eventually

LEAK = "main.leakyCache"
# One sample each 64 KiB: at 96 MB the scaled total has a standard deviation of 2 %, with Go's own 512 KiB it would
# be 7 %. Unscaled, objects of 1 KiB would show 2 % of what they hold.
SAMPLING = 65536
# Of the victim's anonymous memory; the rest is the runtime's own.
HELD_SHARE = 0.85


def at_kill(incident):
    return [c for c in incident["captures"] if c["method"] == "at_kill"]


class GoHeapTest(E2eTest):
    LIMIT_MB = 96

    def leaker(self, box, *flags, program=None, rate=100, before=(), **kwargs):
        """leaky-go without an endpoint, so that what we know of its heap is our own reading."""
        program = program or tools.go_program("1.19", "strip")
        argv = [*before, program, "-listen", "", "-rate", rate, "-profile-rate", SAMPLING, *flags]
        return self.start([str(a) for a in argv], box, **kwargs)

    def kill_leaker(self, name, *flags, limit_mb=None, **kwargs):
        """The cgroup of a leaky-go that has been killed."""
        box = self.cgroup(name, limit_mb or self.LIMIT_MB)
        self.leaker(box, *flags, **kwargs).wait_killed()
        return box

    def at_kill_of(self, witness, box):
        """(incident, its one capture at the kill), once both are on disk."""
        def both():
            self.assertIsNone(witness.process.poll(), "the daemon has ended")
            found = [(i, c) for i in self.incidents_of(witness, box) for c in at_kill(i)]
            return found or None

        def have():
            captures = [c for i in self.incidents_of(witness, box) for c in i["captures"]]
            return [(c["method"], c["result"], c["reason"]) for c in captures]

        found = eventually(both, lambda: f"a capture at the kill in {box.path}; have {have()}", 30)
        self.assertEqual(len(found), 1, [c for _, c in found])
        return found[0]

    def profile_of(self, incident, capture):
        self.assertTrue(capture["file"], capture)
        return os.path.join(incident["_dir"], capture["file"])

    def assert_complete(self, witness, box, function=LEAK, held_share=HELD_SHARE):
        """The whole list was read at the kill, and explains the memory of the victim."""
        incident, capture = self.at_kill_of(witness, box)
        self.assertEqual((capture["result"], capture["complete"]), ("ok", True), capture)
        self.assertEqual(capture["pid"], incident["victims"][0]["pid"])
        self.assertGreater(capture["buckets"], 0)
        anon = incident["victims"][0]["rss"]["anon_bytes"]
        self.assertGreaterEqual(capture["inuse_bytes"], held_share * anon, capture)
        self.assertLessEqual(capture["inuse_bytes"], 1.15 * anon, capture)
        profile = pprof.read(self.profile_of(incident, capture))
        self.assertAlmostEqual(profile.total(), capture["inuse_bytes"], delta=capture["buckets"] + 1)
        self.assertGreater(profile.cumulative().get(function, 0), 0.9 * profile.total(), profile.cumulative())
        return incident, capture

    def assert_failed(self, witness, box, *reasons):
        _, capture = self.at_kill_of(witness, box)
        self.assertEqual(capture["result"], "failed", capture)
        self.assertIn(capture["reason"], reasons)
        self.assertFalse(capture["file"], capture)

    def assert_no_profile(self, witness, box):
        """Not a Go program: nothing was read, and nothing is claimed."""
        incident = self.wait_incidents(witness, 1, box)[0]
        self.assertEqual([c for c in incident["captures"] if c["result"] == "ok"], [])
        self.assertIsNone(incident["coverage"]["ratio"])
