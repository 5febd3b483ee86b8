#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records real kills for tests/pipeline: sudo OOMWITNESS=BINARY tests/pipeline/make_recordings.py

Each recording is trimmed to the events of the cgroups made here, so that nothing of the machine it
was made on stays in it, and scratch paths are replaced. Only needed when the format changes.
"""
import json
import os
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "e2e"))

from harness.case import E2eTest  # noqa: E402
from harness.wait import eventually  # noqa: E402

CGROUP_KEYS = ("cgroup", "leaf_cgroup", "trigger_cgroup", "owner_cgroup")


class Recordings(E2eTest):
    def record(self, name, scenario):
        path = os.path.join(self.scratch, name + ".jsonl")
        witness = self.daemon(args=["--record", path])
        scenario(witness)
        witness.stop()
        self.checked_kills = self.kernel_kills()
        kept = self.trimmed(path)
        with open(os.path.join(HERE, "recordings", name + ".jsonl"), "w", encoding="utf-8") as out:
            out.writelines(kept)
        print(f"{name}: {len(kept)} events")

    def trimmed(self, path):
        ids = {c.inode for c in self.cgroups}
        kept = []
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                event = json.loads(line)
                ours = event["type"] in ("recording", "lost") or any(event.get(k) in ids for k in CGROUP_KEYS)
                if ours:
                    kept.append(self.anonymous(line))
        return kept

    def anonymous(self, line):
        for place, name in ((os.environ.get("OOMW_CACHE", os.path.expanduser("~/.cache/oomwitness")), "/opt/test"),
                            (self.scratch, "/tmp/test"), (self.prefix, "test-")):
            line = line.replace(place, name)
        return line

    def test_leak_with_endpoint(self):
        def scenario(witness):
            box = self.cgroup("leak", 128)
            self.leaky_go(box, "-rate", "60").wait_killed()
            self.wait_incidents(witness, 1)

        self.record("leak_with_endpoint", scenario)

    def test_victim_is_not_the_trigger(self):
        def scenario(witness):
            box = self.cgroup("bystander", 128)
            big = self.memhog(box, "--hold-mb", "60", oom_score_adj=900)
            eventually(lambda: box.usage() > 55 << 20, "the big one holds its memory")
            self.memhog(box, "--hold-mb", "100")
            big.wait_killed()
            self.wait_incidents(witness, 1)

        self.record("victim_is_not_the_trigger", scenario)

    def test_ancestor_limit(self):
        def scenario(witness):
            pod = self.cgroup("pod", 128)
            box = self.cgroup("inner", parent=pod)
            self.memhog(box, "--rate-mb-s", "100").wait_killed()
            self.wait_incidents(witness, 1)

        self.record("ancestor_limit", scenario)


if __name__ == "__main__":
    unittest.main(verbosity=1)
