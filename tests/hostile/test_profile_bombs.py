# SPDX-License-Identifier: Apache-2.0
"""Attack: an endpoint answers with a profile that is small on the wire and large in memory.

Seen: with 640 KB of gzip from two containers, or 32 MiB uncompressed from one, the daemon's resident memory was 291 to
321 MiB and its container was killed: the body was in memory before it was budgeted, was inflated again to append
comments, and parsed a third time by the writer.
Must hold: the bars of hostile_case, while it is fetched and when its process is killed; a reason or the figures.
"""
import os

import profiles
from harness.daemon import CAPTURE_AT_80
from hostile_case import MIB, HostileTest, eventually

# The first rise is captured; a cooldown must not hide the kill's own turn.
CONFIG = CAPTURE_AT_80
ITEMS = 390_000  # below the daemon's bound on items of a profile


class ProfileBombs(HostileTest):
    def bomb(self, *bodies):
        self.fortress(CONFIG)
        go = os.path.join(self.public, "go")
        works = []
        for number, body in enumerate(bodies):
            box = self.cgroup(f"bomb{number}", 96)
            path = self.write_public(f"body{number}", body)
            works.append((box, self.attack(box, [self.script("profile_endpoint.py"), path, 40, 76, 1, go])))
        for box, work in works:
            work.wait_output("asked")
            eventually(lambda: self.captures(box), lambda: f"a result of the capture; {work.describe()}")
            print(f"      {self.captures(box)}", flush=True)
        open(go, "w").close()
        for _, work in works:
            work.wait_killed()
        self.assert_unhurt()

    def test_two_gzip_bombs_of_32_mib(self):
        bomb = profiles.gzipped(profiles.with_samples(ITEMS, size=32 * MIB - 4096))
        self.assertLess(len(bomb), 640 << 10)
        self.bomb(bomb, bomb)

    def test_two_gzip_bombs_of_labels(self):
        bomb = profiles.gzipped(profiles.with_samples(1000, labels=ITEMS - 1000, size=31 * MIB))
        self.bomb(bomb, bomb)

    def test_many_members_are_one_profile_and_one_bound(self):
        """Each member alone is below the bound, all of them are 256 MiB."""
        profile = profiles.with_samples(1000, size=256 * MIB)
        self.bomb(profiles.gzipped(profile, members=16))

    def test_32_mib_uncompressed(self):
        self.bomb(profiles.with_samples(ITEMS, size=32 * MIB - 4096))


