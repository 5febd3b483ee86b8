# SPDX-License-Identifier: Apache-2.0
"""deploy/install.sh where systemd runs. By its name behind test_package.py: it wants a machine without the package."""
import os
import subprocess
import unittest

from guest import (INPUT, TREE, UNIT, GuestTest, dpkg, is_here, is_ready, journal, main_pid, own_files, package_status, run, show,
                   systemctl, wait_ready)

SCRIPT = os.path.join(TREE, "deploy/install.sh")
BINARY = "/usr/local/bin/oomwitness"


class Script(GuestTest):
    @classmethod
    def setUpClass(cls):
        if not is_here():
            raise unittest.SkipTest("runs in the VM of tests/systemd/suite.sh only")
        if package_status() != "not-installed":
            dpkg("-P", "oomwitness")
        run("dpkg-deb", "-x", f"{INPUT}/old.deb", "/tmp/unpacked")
        cls.binary = "/tmp/unpacked/usr/bin/oomwitness"

    def test_installed_it_runs_and_uninstalled_it_is_gone(self):
        run(SCRIPT, "--binary", self.binary)
        wait_ready()
        self.assertEqual(os.readlink(f"/proc/{main_pid()}/exe"), BINARY)
        self.assertEqual(systemctl("is-enabled", UNIT).strip(), "enabled")
        pid = main_pid()
        self.assertEqual(run(SCRIPT, "--binary", self.binary), "")
        self.assertEqual(main_pid(), pid)  # nothing changed, nothing restarted
        run(SCRIPT, "--uninstall", "--purge")
        self.assertEqual((own_files(), is_ready(), show(UNIT, "LoadState")), (set(), False, "not-found"))

    def test_what_cannot_be_executed_is_no_success(self):
        bad = "/var/tmp/no-program"
        with open(bad, "w") as f:
            f.write("neither ELF nor a script\n")
        os.chmod(bad, 0o755)
        done = subprocess.run([SCRIPT, "--binary", bad], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0, done.stdout)
        self.assertIn("Exec format error", journal("-u", UNIT))
        run(SCRIPT, "--uninstall", "--purge")
        systemctl("reset-failed", UNIT, status=None)
