# SPDX-License-Identifier: Apache-2.0
"""The code that a program without a managed runtime grew by, sampled from half of its limit on."""
import gzip
import json
import os
import platform
import re
import subprocess
import unittest

from harness import fileio, tools
from harness.case import E2eTest, judged
from harness.daemon import run_cli
from harness.wait import eventually

MIB = 1 << 20
GROWTH = "[growth]\nenabled = true\n"


@unittest.skipUnless(platform.machine() == "x86_64", "growth is sampled on x86-64 only")
class GrowthNative(E2eTest):
    def profiles(self, recording, pid):
        lines = [line for line in fileio.read(recording).split("\n")[:-1] if '"type":"growth"' in line]
        return [event for event in map(json.loads, lines) if event["pid"] == pid]

    @judged
    def test_shares_of_three_call_paths_are_within_ten_points(self):
        recording = os.path.join(self.scratch, "events.jsonl")
        witness = self.daemon(GROWTH, args=["--record", recording])
        victim = self.start([tools.growth_paths()], self.cgroup("paths", 256))
        victim.wait_killed()
        self.wait_incidents(witness, 1)

        # The last one comes after the kill.
        def named():
            known = self.profiles(recording, victim.pid)
            return known[-1] if known and known[-1]["grown_bytes"] > 90 * MIB else None

        profile = eventually(named, lambda: f"growth of {victim.pid}: {self.profiles(recording, victim.pid)[-1:]}", 20)
        bytes_of = {"add_session": 0, "add_report": 0, "add_login": 0, "warm_up": 0, "scratch": 0}
        for stack in profile["stacks"]:
            functions = [frame["function"] for frame in stack["frames"]]
            for name in bytes_of:
                if name in functions:
                    bytes_of[name] += stack["bytes"]
        self.assertGreater(sum(bytes_of.values()), profile["grown_bytes"] * 0.9, profile)
        kept_bytes = bytes_of["add_session"] + bytes_of["add_report"] + bytes_of["add_login"]
        # Of 500 slots: one standard error is 2.2 points.
        for name, truth in {"add_session": 63, "add_report": 28, "add_login": 9}.items():
            self.assertAlmostEqual(bytes_of[name] * 100 / kept_bytes, truth, delta=10, msg=bytes_of)
        self.assertEqual(profile["lost"], 0)
        self.check_file(witness, victim.pid)

    def check_file(self, witness, pid):
        """The stacks lie beside the incident, and `top` reads them as any profile."""
        with_file = lambda: [i for i in witness.incidents() if i.get("growth", {}).get("file") and i["growth"]["pid"] == pid]
        incident = eventually(with_file, "an incident with growth.pb.gz", 20)[0]
        path = os.path.join(incident["_dir"], incident["growth"]["file"])
        # The build of the program, by which its symbols are found elsewhere.
        notes = subprocess.run(["readelf", "-n", tools.growth_paths()], capture_output=True, text=True, check=True).stdout
        build_id = re.search(r"Build ID: ([0-9a-f]+)", notes).group(1)
        with gzip.open(path) as file:
            self.assertIn(build_id.encode(), file.read())
        builds = {place.get("build_id") for place in incident["growth"]["places"] if "(growpaths)" in place.get("code", "")}
        self.assertEqual(builds, {build_id}, incident["growth"]["places"])
        shown = run_cli("show", "--markdown", "--data-dir", witness.data_dir, incident["id"])
        self.assertIn("growth.pb.gz", shown.stdout)
        self.check_over_time(incident["growth"], shown.stdout)
        self.check_commands(path)

    def check_over_time(self, growth, report):
        """Two paths have the leak, the third meets few levels; a cache was filled once, and scratch memory given back."""
        self.assertGreater(growth["sampled_seconds"], 5, growth)
        patterns = {place["code"].split()[0]: place.get("pattern") for place in growth["places"] if place.get("code")}
        growing = {name for name, pattern in patterns.items() if pattern == "persistent"}
        self.assertIn(growing, ({"add_session", "add_report"}, {"add_session", "add_report", "add_login"}), growth["places"])
        self.assertEqual(patterns.get("warm_up"), "one_off", growth["places"])
        rows = {name: row for row in report.replace("\\", "").split("\n") for name in patterns if row.startswith(f"| {name} ")}
        self.assertIn("all the time, in ", rows["add_session"], report)
        self.assertIn("one-off", rows["warm_up"], report)

    def check_commands(self, path):
        for by, wanted in (("function", "add_session"), ("module", "growpaths"), ("operation", "(no operation)")):
            self.assertIn(wanted, run_cli("top", path, "--by", by).stdout)
        self.assertIn("no module grew or shrank", run_cli("diff", path, path, "--by", "module").stdout)
        picture = run_cli("render", path, "--by", "module", "-o", "-")
        self.assertIn("growpaths", picture.stdout, picture.stderr)

    def test_switched_off_nothing_is_sampled(self):
        recording = os.path.join(self.scratch, "events.jsonl")
        witness = self.daemon("[growth]\nenabled = false\n", args=["--record", recording])
        victim = self.start([tools.growth_paths()], self.cgroup("off", 64))
        victim.wait_killed()
        self.wait_incidents(witness, 1)
        self.assertEqual(self.profiles(recording, victim.pid), [])


@unittest.skipUnless(platform.machine() == "x86_64", "growth is sampled on x86-64 only")
class Rust(E2eTest):
    @judged
    def test_the_function_that_a_rust_program_grew_by_is_named(self):
        witness = self.daemon(GROWTH)
        box = self.cgroup("rust", 48)
        self.start([tools.rust_sessions()], box).wait_killed()
        named = lambda: [place["code"] for i in self.incidents_of(witness, box) for place in i.get("growth", {}).get("places", ())]
        eventually(lambda: any("log_in" in code for code in named()), named, 20)
