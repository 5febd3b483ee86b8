# SPDX-License-Identifier: Apache-2.0
"""The machine that the cases run on: a Debian with systemd as process 1, our package, and programs to be killed."""
import json
import os
import re
import shutil
import subprocess
import sys
import unittest

from harness import fileio
from harness.daemon import read_incidents
from harness.kernel_log import KernelLog
from harness.metrics import Scrape, get
from harness.wait import eventually, lost_if_it_fails

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.append(os.path.join(TREE, "tests/deploy"))
import unit_file  # noqa: E402, F401  for the cases

MIB = 1 << 20
DATA = "/var/lib/oomwitness"
CONFIG = "/etc/oomwitness/oomwitness.toml"
UNIT = "oomwitness.service"
INPUT = "/run/out/input"  # what suite.sh made: old.deb, new.deb, memhog, leaky-go
PROGRAMS = "/usr/local/bin"
MEMHOG, LEAKY_GO = f"{PROGRAMS}/memhog", f"{PROGRAMS}/leaky-go"
METRICS = "http://127.0.0.1:9435"
# For every systemctl and dpkg below: beside compilers an emulated systemd was seen to need more than its 25 s for an answer.
os.environ["SYSTEMD_BUS_TIMEOUT"] = "300s"


def is_here():
    """Whether this is that machine."""
    return os.path.isdir(INPUT) and os.path.isdir("/run/systemd/system")


def run(*argv, status=0, **kwargs):
    """What it printed on stdout; fails with all it printed unless it ended with that status (None: with any)."""
    done = subprocess.run(argv, capture_output=True, text=True, errors="surrogateescape", stdin=subprocess.DEVNULL, **kwargs)
    if status is not None and done.returncode != status:
        raise AssertionError(f"{' '.join(argv)}: ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def systemctl(*args, **kwargs):
    return run("systemctl", "--no-pager", *args, **kwargs)


def show(unit, prop):
    return systemctl("show", "--value", f"--property={prop}", unit).strip()


def journal(*args):
    """Messages alone, one a line. What was written before the call is in it."""
    run("journalctl", "--sync")
    return run("journalctl", "--no-pager", "--quiet", "--output=cat", *args)


def is_ready():
    try:
        return get(METRICS + "/readyz")[0] == 200
    except OSError:
        return False


def wait_ready():
    is_over = lambda: is_ready() or show(UNIT, "ActiveState") == "failed"
    eventually(is_over, lambda: systemctl("status", UNIT, status=None), 60, 0.1)
    if not is_ready():
        raise AssertionError("the daemon failed: " + journal("-u", UNIT, "-n", "20"))


def read_config():
    return fileio.read(CONFIG)


def write_config(text):
    fileio.write(CONFIG, text)


def scrape():
    return Scrape(get(METRICS + "/metrics")[1])


def dpkg(*args):
    """As on an unattended machine: a changed configuration file is kept."""
    return run("dpkg", "--force-confdef", "--force-confold", *args, env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))


def package_status():
    return run("dpkg-query", "-W", "-f", "${db:Status-Status}", "oomwitness", status=None) or "not-installed"


def install():
    """The package of the tree under test, running; does nothing where it is."""
    if package_status() != "installed":
        dpkg("-i", f"{INPUT}/old.deb")
    if show(UNIT, "ActiveState") != "active":
        systemctl("start", UNIT)
    wait_ready()


def install_programs():
    for program in (MEMHOG, LEAKY_GO):
        if not os.path.exists(program):
            shutil.copy(os.path.join(INPUT, os.path.basename(program)), program)


def main_pid():
    return int(show(UNIT, "MainPID"))


class GuestTest(unittest.TestCase):
    """A test with our package installed and running. Units that it starts end with it."""

    kernel_log = None

    @classmethod
    def setUpClass(cls):
        if not is_here():
            raise unittest.SkipTest("runs in the VM of tests/systemd/suite.sh only")
        install_programs()
        install()

    def setUp(self):
        self.kernel_log = KernelLog()
        self.addCleanup(self.kernel_log.close)

    def stop_after(self, unit):
        self.addCleanup(systemctl, "reset-failed", unit, status=None)
        self.addCleanup(systemctl, "stop", unit, status=None)

    def run_unit(self, unit, command, *options, properties=()):
        """Starts a transient unit."""
        self.stop_after(unit)
        words = [word for prop in properties for word in ("-p", prop)]
        return run("systemd-run", "--quiet", f"--unit={unit}", *words, *options, *command, status=None)

    def write_unit(self, name, text, folder="/run/systemd/system"):
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, name)
        fileio.write(path, text)
        self.addCleanup(os.remove, path)

    # --- from the kernel and the daemon

    def wait_decision(self, path):
        """What the kernel logged of the one kill below that path."""
        found = eventually(lambda: self.kernel_log.decisions(path), lambda: f"no kill below {path}")
        self.assertEqual(len(found), 1, found)
        return found[0]

    def wait_incident(self, path):
        """The one incident of that cgroup, of which the kernel has logged a kill."""
        def own():
            return [i for i in read_incidents(DATA) if i["container"]["cgroup_path"] == path]

        with lost_if_it_fails():
            eventually(own, lambda: f"no incident of {path}; have {[i['container']['cgroup_path'] for i in read_incidents(DATA)]}\n"
                                    + journal("-u", UNIT, "-n", "20"))
            self.assertEqual(len(own()), 1)
        return own()[0]

    def killed(self, path, owner=None, limit_mb=None):
        """The incident of the kill in the cgroup `path`, after it was compared with the kernel's own words."""
        decision = self.wait_decision(path)
        self.assertEqual((decision.victim_path, decision.owner_path), (path, owner or path))
        incident = self.wait_incident(path)
        self.assertEqual([v["pid"] for v in incident["victims"]], decision.killed)
        self.assertEqual(incident["limit"]["owner_cgroup_path"], owner or path)
        self.assertEqual(incident["scope"], "ancestor" if owner else "container")
        if limit_mb:
            self.assertEqual(incident["limit"]["bytes"], limit_mb * MIB)
        return incident

    def killed_unit(self, unit, path, **kwargs):
        incident = self.killed(path, **kwargs)
        self.assertEqual((incident["container"]["unit"], incident["container"]["runtime"]), (unit, "systemd"))
        return incident

    def assert_journal_names(self, unit, incident):
        """A line of the incident in `journalctl -u oomwitness` is the answer: which unit, who, why."""
        lines = [line for line in journal("-u", UNIT).splitlines() if incident["id"] in line]
        words = (unit, incident["victims"][0]["comm"], incident["verdict"]["cause"])
        self.assertTrue(any(all(word in line for word in words) for line in lines), (words, lines))

    @staticmethod
    def report(incident):
        return fileio.read(os.path.join(incident["_dir"], "report.md"))


def commands_of(report, word):
    """Commands of a report that begin with that word, as they can be pasted into a shell."""
    return [line.strip() for line in report.splitlines() if re.match(rf"\s+{re.escape(word)} ", line)]


def own_files():
    """Whatever has our name, but for logs."""
    found = run("find", "/", "-xdev", "-name", "*oomwitness*", "-not", "-path", "/var/log/*", "-not", "-path", "/tmp/*")
    return set(found.split())


def doctor():
    return json.loads(run("oomwitness", "doctor", "--json", status=None))
