# SPDX-License-Identifier: Apache-2.0
"""Attack: four containers, none of them killed, have themselves captured again and again.

Seen: the neighbour's profile was evicted from the spool after 47 s, before its kill.
Must hold: the bars of hostile_case; the neighbour's incident has the profile that was taken before the flood. The
spool is small here (6 MiB, bodies of 1 MiB), so that seconds are enough, and there is no level above that of the captures, so
that the neighbour is captured once before its kill: an incident keeps eight captures of the many it would have.
"""
import os

import profiles
from hostile_case import MIB, HostileTest, eventually

CONFIG = """
[kernel]
time_to_limit_seconds = 0
levels_percent = [50, 80]
[triggers]
capture_percents = [80]
cooldown_seconds = 0
budget = 1000
[capture.spool]
bytes = 6291456
"""


class SpoolFlood(HostileTest):
    SWINGS = 8

    def start_neighbour(self):
        """At 85 % of its limit, where its endpoint has been asked."""
        box = self.cgroup("early", 96)
        work = self.leaky_go(box, "-prefill-mb", "60", "-rate", "60", "-limit-mb", "74", "-profile-rate", "65536")
        eventually(lambda: ("ok", "") in self.captures(box), lambda: f"the neighbour's profile; {work.describe()}")
        return box, work

    def test_a_profile_taken_before_the_flood_is_in_the_incident(self):
        witness = self.fortress(CONFIG)
        box, victim = self.start_neighbour()
        go = os.path.join(self.public, "never")
        floods = []
        for number in range(4):
            body = self.write_public(f"body{number}", profiles.padded(profiles.with_samples(10), MIB))
            flood = self.cgroup(f"flood{number}", 96)
            floods.append((flood, self.attack(flood, [self.script("profile_endpoint.py"), body, 40, 76, self.SWINGS, go])))
        for flood, work in floods:
            work.wait_output("over", 90)
        stored = sum(result == "ok" for flood, _ in floods for result, _ in self.captures(flood))
        print(f"      {stored} profiles in the flood", flush=True)
        self.assertGreater(stored, 10, "that was no flood")
        self.memhog(box, "--rate-mb-s", "100", "--leak-mb", "60")
        victim.wait_killed()
        self.at_kill_of(witness, box)
        stored = self.captures(box).count(("ok", ""))

        def taken():
            # The kernel may choose again before the memory of its first victim is free.
            incident = next(i for i in self.incidents_of(witness, box) if i["victims"][0]["pid"] == victim.pid)
            return [c["file"] for c in incident["captures"] if c["method"] == "http" and c["result"] == "ok"]

        # The last one may come in after the kill: with a later revision.
        eventually(lambda: len([file for file in taken() if file]) >= stored,
                   lambda: f"{stored} profiles of the neighbour were stored, its incident has {taken()}", 15)
        self.assert_unhurt()
