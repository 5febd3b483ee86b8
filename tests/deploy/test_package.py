# SPDX-License-Identifier: Apache-2.0
"""The .deb: made by CPack, installed, upgraded, removed and purged in a root of its own.

The root holds busybox for the package's scripts and a dpkg database that knows what the package depends on, with the
versions of this machine; the machine's own database is only read.
"""
import os
import re
import shutil
import stat
import subprocess
import tempfile
import unittest

from harness import fileio, tools
from harness.daemon import run_program

MAX_BYTES = 4 << 20  # it is 3.0 MB
CONFIG = "etc/oomwitness/oomwitness.toml"
# Stand-ins for systemd's tools: they only print how they were called.
RECORDER = '#!/bin/sh\necho "${0##*/} $*" >>/calls\n'


def build_folder():
    return os.path.dirname(os.path.dirname(tools.BINARY))


class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="oomw-deb-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        cls.deb = cls.make_package()

    @classmethod
    def make_package(cls):
        for program in ("cpack", "dpkg-deb", "dpkg-shlibdeps", "busybox"):
            if not shutil.which(program):
                raise unittest.SkipTest(f"no {program} on this machine")
        if os.geteuid() != 0:
            raise unittest.SkipTest("needs root: dpkg runs scripts in a chroot")
        config = os.path.join(build_folder(), "CPackConfig.cmake")
        if not os.path.exists(config):
            raise unittest.SkipTest(f"{build_folder()} was not configured by this tree's CMakeLists.txt")
        done = subprocess.run(["cpack", "--config", config, "-G", "DEB", "-B", cls.folder], capture_output=True, text=True)
        debs = [name for name in os.listdir(cls.folder) if name.endswith(".deb")]
        if done.returncode != 0 or len(debs) != 1:
            raise AssertionError(done.stdout + done.stderr)
        return os.path.join(cls.folder, debs[0])

    def setUp(self):
        self.root = tempfile.mkdtemp(dir=self.folder)
        for folder in ("bin", "dev", "usr/bin", "var/lib/dpkg/info", "var/lib/dpkg/updates"):
            os.makedirs(os.path.join(self.root, folder))
        shutil.copy(shutil.which("busybox"), os.path.join(self.root, "bin/busybox"))
        for name in ("sh", "rm", "rmdir", "ldconfig"):
            os.symlink("busybox", os.path.join(self.root, "bin", name))
        os.mknod(os.path.join(self.root, "dev/null"), 0o666 | stat.S_IFCHR, os.makedev(1, 3))
        fileio.write(os.path.join(self.root, "var/lib/dpkg/status"), self.known_packages())

    def field(self, name):
        return run_program("dpkg-deb", "-f", self.deb, name).stdout.strip()

    def known_packages(self):
        """What the package depends on, as it is installed here, without what that needs in turn."""
        stanzas = []
        providers = self.providers()
        for name in re.findall(r"([a-z0-9.+-]+)(?: \([^)]*\))?(?:, |$)", self.field("Depends")):
            stanza = run_program("dpkg-query", "-s", providers.get(name, name)).stdout
            keep = [line for line in stanza.splitlines()
                    if re.match(r"(Package|Status|Version|Architecture|Multi-Arch|Maintainer|Provides):", line)]
            stanzas.append("\n".join([*keep, "Description: known here"]))
        self.assertGreater(len(stanzas), 5)
        return "\n\n".join(stanzas) + "\n"

    @staticmethod
    def providers():
        """Of names that are no packages: libspdlog1.10-fmt9 is one."""
        listing = run_program("dpkg-query", "-W", "-f", "${Package}\t${Provides}\n").stdout
        rows = [line.split("\t") for line in listing.splitlines()]
        return {name.split(" ")[0]: package for package, provided in rows for name in provided.split(", ") if name}

    def dpkg(self, *args):
        """Its output; what busybox has no use for, dpkg's own path check, is left out."""
        command = ["dpkg", "--root", self.root, "--force-not-root,bad-path", *args]
        done = subprocess.run(command, capture_output=True, text=True, env={"PATH": "/usr/bin:/usr/sbin:/bin:/sbin", "LC_ALL": "C"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def status(self):
        done = run_program("dpkg-query", "--root", self.root, "-W", "-f", "${db:Status-Status}", "oomwitness")
        return done.stdout if done.returncode == 0 else "not known"

    def pretend_systemd(self):
        os.makedirs(self.path("run/systemd/system"))
        for name in ("systemctl", "deb-systemd-invoke", "deb-systemd-helper"):
            fileio.write(self.path("usr/bin", name), RECORDER)
            os.chmod(self.path("usr/bin", name), 0o755)

    def calls(self):
        """Of systemd's tools since the last time."""
        if not os.path.exists(self.path("calls")):
            return []
        lines = fileio.read(self.path("calls")).splitlines()
        os.remove(self.path("calls"))
        return [line for line in lines if "deb-systemd-helper" not in line]

    def test_it_is_small_and_depends_on_libraries_by_version(self):
        self.assertLess(os.path.getsize(self.deb), MAX_BYTES)
        self.assertRegex(self.field("Depends"), r"libbpf1 \(>= .*libc6 \(>= ")
        self.assertIn(f"VERSION {self.field('Version')} ", fileio.read(os.path.join(tools.TREE, "CMakeLists.txt")))

    # Of the archive: a machine may be set up to leave manual pages out when it unpacks.
    def test_it_has_the_manual_page_and_completions(self):
        listing = run_program("dpkg-deb", "-c", self.deb).stdout
        for name in ("man/man1/oomwitness.1", "bash-completion/completions/oomwitness", "zsh/vendor-completions/_oomwitness",
                     "fish/vendor_completions.d/oomwitness.fish"):
            self.assertIn(f" ./usr/share/{name}\n", listing)

    def test_installed_removed_and_purged_without_systemd_and_without_a_word(self):
        said = self.dpkg("-i", self.deb)
        own = [line for line in said.splitlines() if not re.match(
            r"Selecting |\(Reading |Preparing |Unpacking |Setting up |dpkg: warning: files list file|$", line)]
        self.assertEqual((self.status(), own), ("installed", []))
        done = run_program(self.path("usr/bin/oomwitness"), "incidents", "--data-dir", self.root, "--config", self.path(CONFIG), status=0)
        os.makedirs(self.path("var/lib/oomwitness/incidents"))
        self.dpkg("-r", "oomwitness")
        self.assertEqual(self.status(), "config-files")
        self.assertTrue(os.path.exists(self.path(CONFIG)) and os.path.isdir(self.path("var/lib/oomwitness/incidents")))
        self.assertFalse(os.path.exists(self.path("usr/bin/oomwitness")))
        self.dpkg("-P", "oomwitness")
        self.assertNotEqual(self.status(), "config-files")
        for gone in ("etc/oomwitness", "var/lib/oomwitness", "usr/share/oomwitness", "lib/systemd/system/oomwitness.service"):
            self.assertFalse(os.path.exists(self.path(gone)), gone)

    def test_an_edited_configuration_outlives_an_upgrade(self):
        self.dpkg("-i", self.deb)
        fileio.write(self.path(CONFIG), 'log_level = "debug"\n')
        self.dpkg("-i", self.deb)
        self.assertEqual(fileio.read(self.path(CONFIG)), 'log_level = "debug"\n')

    def test_systemd_is_told_what_to_start_and_stop(self):
        self.pretend_systemd()
        self.dpkg("-i", self.deb)
        self.assertEqual(self.calls(), ["systemctl --system daemon-reload", "deb-systemd-invoke start oomwitness.service"])
        self.dpkg("-i", self.deb)  # an upgrade: it is not stopped before
        self.assertEqual([c for c in self.calls() if "invoke" in c], ["deb-systemd-invoke restart oomwitness.service"])
        self.dpkg("-r", "oomwitness")
        self.assertEqual(self.calls(), ["deb-systemd-invoke stop oomwitness.service", "systemctl --system daemon-reload"])

    def test_the_unit_starts_the_packaged_binary(self):
        contents = run_program("dpkg-deb", "-c", self.deb).stdout
        for path in ("./usr/bin/oomwitness", "./lib/systemd/system/oomwitness.service", "./" + CONFIG):
            self.assertRegex(contents, rf"root/root .* {re.escape(path)}\n")
        self.assertIn("\nExecStart=/usr/bin/oomwitness run\n", fileio.read(os.path.join(tools.TREE, "deploy/systemd/oomwitness.service")))
