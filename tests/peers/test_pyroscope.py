# SPDX-License-Identifier: Apache-2.0
"""A heap profile at a profile store that keeps Pyroscope's documented limits (harness/pyroscope_server.py)."""
import glob
import gzip
import os
import time

from harness import fileio
from harness.protobuf import encode
from harness.pyroscope_server import PyroscopeServer
from harness.wait import eventually
from test_sinks import SinkTest

STACKS, FRAMES = 20_000, 12


def heap(stacks, frames, at):
    """A gzipped pprof of so many stacks below a common root, and its total of inuse_space."""
    names = ["", "inuse_objects", "count", "inuse_space", "bytes"]
    functions, locations, samples = [], [], []

    def frame(name):
        names.append(name)
        number = len(functions) + 1
        functions.append({1: number, 2: len(names) - 1, 4: 0})
        locations.append({1: number, 4: {1: number, 2: 7}})
        return number

    shared = [frame(f"main.shared{i}") for i in range(frames - 1)]
    for number in range(stacks):
        samples.append({1: [frame(f"main.leaf{number}"), *shared], 2: [1, number + 1]})
    # A piece each: encode() of all at once would copy what it has for each field.
    tables = [{2: sample} for sample in samples], [{4: l} for l in locations], [{5: f} for f in functions], [{6: n} for n in names]
    pieces = [encode({1: [{1: 1, 2: 2}, {1: 3, 2: 4}], 9: int(at * 1e9)}), *(encode(row) for table in tables for row in table)]
    return gzip.compress(b"".join(pieces)), stacks * (stacks + 1) // 2


class ProfileTest(SinkTest):
    def seed_with_profile(self, age_s, profile):
        """An incident as a daemon left it, with one profile taken so long ago."""
        incident_id, = self.seed(1, len(glob.glob(os.path.join(self.data_dir(), "incidents/*"))))
        folder, = glob.glob(os.path.join(self.data_dir(), f"incidents/*-seeded-{incident_id[-8:]}"))
        path = os.path.join(folder, "incident.json")
        incident = fileio.read_json(path)
        at = time.time() - age_s
        capture = next(c for c in incident["captures"] if c["result"] == "ok")
        capture.update(file="capture-01-http.pb.gz", time=time.strftime("%Y-%m-%dT%H:%M:%S.000000000Z", time.gmtime(at)))
        incident["captures"] = [capture]
        fileio.write_json(path, incident)
        fileio.write(os.path.join(folder, "capture-01-http.pb.gz"), profile)
        return folder


class Pushed(ProfileTest):
    def server(self, **_):
        return self.closing(PyroscopeServer())

    @staticmethod
    def large(server):
        """Of what was pushed, the profile of this test: kills of other tests come here too."""
        return [(labels, profile) for labels, profile in server.pushed if len(profile.samples) > 5_000]

    def config(self, server):
        return f'[sinks]\ncluster_name = "test"\n[sinks.pyroscope]\nurl = "{server.url}"\n'

    def test_20_000_stacks_arrive_folded_with_their_total_and_once(self):
        profile, total = heap(STACKS, FRAMES, time.time() - 60)
        self.seed_with_profile(60, profile)
        server = self.server()
        witness = self.daemon(self.config(server))
        eventually(lambda: self.large(server), lambda: f"a push; {server.refused}; {witness.log()[-2000:]}")
        (labels, pushed), = self.large(server)
        self.assertEqual((labels["__name__"], labels["__delta__"], labels["cluster"]), ("memory", "false", "test"))
        self.assertLessEqual(len(pushed.samples), 16_000)
        self.assertLess(abs(pushed.total() - total), total / 100)
        self.wait_value(witness, 1, "sent_total", sink="pyroscope")
        witness.stop()
        again = self.daemon(self.config(server))
        eventually(lambda: self.value(again, "waiting", sink="pyroscope") == 0, "nothing waits")
        self.assertEqual(len(self.large(server)), 1)

    def test_parca_gets_the_same_profile_in_its_own_form(self):
        profile, total = heap(10, 3, time.time() - 60)
        self.seed_with_profile(60, profile)
        server = self.server()
        witness = self.daemon(self.config(server) + "parca = true\n")
        eventually(lambda: total in [p.total() for _, p in server.pushed], lambda: f"a push; {server.refused}; {witness.log()[-2000:]}")
        labels, = [labels for labels, pushed in server.pushed if pushed.total() == total]
        self.assertNotIn("__delta__", labels)
        self.assertEqual((labels["__name__"], labels["cluster"]), ("memory", "test"))

    def test_a_profile_of_an_hour_ago_and_bytes_that_are_none_are_dead_lettered_unsent(self):
        server = self.server()
        self.seed_with_profile(3500, heap(10, 3, time.time() - 3500)[0])
        witness = self.daemon(self.config(server))
        self.wait_value(witness, 1, "dead_lettered_total", sink="pyroscope", reason="age")
        witness.stop()
        self.seed_with_profile(60, b"\x1f\x8bno profile")
        witness = self.daemon(self.config(server))
        self.wait_value(witness, 1, "dead_lettered_total", sink="pyroscope", reason="unreadable")
        self.assertNotIn(55, [profile.total() for _, profile in server.pushed], "the old one")
