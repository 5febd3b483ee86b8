# SPDX-License-Identifier: Apache-2.0
"""deploy/install.sh, into a root of its own."""
import os
import subprocess
import tempfile
import unittest

from harness import fileio, tools
from harness.daemon import run_program

SCRIPT = os.path.join(tools.TREE, "deploy/install.sh")
UNIT = "usr/local/lib/systemd/system/oomwitness.service"
SHARE = "usr/local/share"
FILES = {"usr/local/bin/oomwitness", UNIT, "etc/oomwitness/oomwitness.toml", f"{SHARE}/man/man1/oomwitness.1",
         f"{SHARE}/bash-completion/completions/oomwitness", f"{SHARE}/zsh/site-functions/_oomwitness",
         f"{SHARE}/fish/vendor_completions.d/oomwitness.fish"}


class Install(unittest.TestCase):
    def setUp(self):
        self.root = self.enterContext(tempfile.TemporaryDirectory())

    def run_script(self, *args, status=0):
        done = subprocess.run([SCRIPT, "--root", self.root, *args], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout

    def install(self, *args):
        return self.run_script("--binary", tools.BINARY, *args)

    def files(self):
        return {os.path.relpath(os.path.join(at, name), self.root) for at, _, names in os.walk(self.root) for name in names}

    def read(self, path):
        return fileio.read(os.path.join(self.root, path))

    def test_installed_binary_runs_with_the_installed_configuration(self):
        self.install()
        self.assertEqual(self.files(), FILES)
        done = run_program(os.path.join(self.root, "usr/local/bin/oomwitness"), "incidents", "--data-dir", self.root,
                           "--config", os.path.join(self.root, "etc/oomwitness/oomwitness.toml"), status=0)

    def test_the_unit_starts_what_was_installed(self):
        self.install("--prefix", "/opt/oomw")
        self.assertIn("\nExecStart=/opt/oomw/bin/oomwitness run\n", self.read("opt/oomw/lib/systemd/system/oomwitness.service"))

    def test_a_second_run_changes_nothing(self):
        self.assertEqual(self.install().count("installed "), len(FILES))
        self.assertEqual(self.install(), "")

    def test_an_edited_configuration_is_kept(self):
        self.install()
        fileio.write(os.path.join(self.root, "etc/oomwitness/oomwitness.toml"), 'log_level = "debug"\n')
        self.assertIn("kept ", self.install())
        self.assertEqual(self.read("etc/oomwitness/oomwitness.toml"), 'log_level = "debug"\n')

    def test_uninstall_leaves_configuration_and_incidents_and_purge_takes_them(self):
        self.install()
        os.makedirs(os.path.join(self.root, "var/lib/oomwitness/incidents"))
        self.run_script("--uninstall")
        self.assertEqual(self.files(), {"etc/oomwitness/oomwitness.toml"})
        self.assertTrue(os.path.isdir(os.path.join(self.root, "var/lib/oomwitness/incidents")))
        self.run_script("--uninstall", "--purge")
        self.assertEqual(self.files(), set())
        self.assertFalse(os.path.exists(os.path.join(self.root, "var/lib/oomwitness")))
        self.run_script("--uninstall")  # again

    def test_bad_usage_installs_nothing(self):
        self.run_script("--purge", status=2)
        self.run_script("--colour", "red", status=2)
        self.run_script("--binary", "/nonexistent", status=1)
        self.run_script("--prefix", "/a b", status=1)
        self.assertEqual(self.files(), set())
