# SPDX-License-Identifier: Apache-2.0
"""The script a newcomer runs first, with the binary just tested."""
import glob
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from harness import fileio, tools
from harness.text_time import unix
from harness.wait import NotInTime


class Quickstart(unittest.TestCase):
    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("needs root: makes cgroups and loads BPF programs")

    def test_both_leaks_are_named_and_nothing_stays(self):
        kept = tempfile.mkdtemp(prefix="oomw-quickstart-")
        self.addCleanup(shutil.rmtree, kept, ignore_errors=True)
        data = os.path.join(kept, "data")
        before = cgroups()
        # Ended by SIGTERM it still removes what it made.
        done = subprocess.run(["timeout", "--kill-after=60", "600", os.path.join(tools.TREE, "deploy/quickstart.sh"),
                               "--binary", tools.BINARY, "--data-dir", data], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        text = done.stdout
        if done.returncode == 124:
            raise NotInTime("the quickstart: not within 600 s: " + text[-3000:])
        self.assertEqual(done.returncode, 0, text[-3000:])
        self.assertTrue(glob.glob(f"{data}/incidents/*/capture-*.pb.gz"), "no heap profile: " + text)
        ways = "\n".join(way_up(path) for path in glob.glob(f"{data}/incidents/*oomwitness-quickstart-*/incident.json"))
        for answer in ("Memory leak in reports-service", "Memory leak in python3: a dict of .* held as .*sessions"):
            self.assertRegex(text, answer, ways)
        self.assertTrue(re.search(rf" web --data-dir {re.escape(data)}$", text, re.M), "no word about the pages: " + text)
        self.assertEqual(cgroups() - before, set(), text[-3000:])


def cgroups():
    """Those of any quickstart: what an earlier one left is not this one's fault."""
    return {path for top in ("*/", "") for path in glob.glob(f"/sys/fs/cgroup/{top}oomwitness-quickstart-*")}


def way_up(path):
    """How a program came to its limit, for the message of a failure."""
    incident = fileio.read_json(path)
    kill = unix(incident["time"])
    series = "; ".join(f"{kill - unix(point['t']):.1f}: {point['usage_bytes'] >> 10}" for point in incident["series"])
    levels = "; ".join(f"{mark['lead_seconds']:.1f}: {mark.get('level_percent')} %" for mark in incident["pressure"]["watermarks"])
    return f"{incident['answer']}; seconds before the kill: KiB: {series}; levels: {levels}"
