# SPDX-License-Identifier: Apache-2.0
"""The .deb on a real machine, with the scripts' real helpers: upgraded, removed, purged. By its name behind all cases that
need the package: it takes it away."""
import os

from guest import (CONFIG, DATA, INPUT, MEMHOG, UNIT, GuestTest, dpkg, is_ready, main_pid, own_files, package_status, read_config, run,
                   scrape, show, systemctl, wait_ready, write_config)
from harness.wait import lost_if_it_fails

WANTED = "/etc/systemd/system/multi-user.target.wants/oomwitness.service"


class Package(GuestTest):
    def test_1_an_upgrade_goes_on_where_the_old_version_was(self):
        self.run_unit("upgraded.service", [MEMHOG, "--rate-mb-s", "0"], properties=["MemoryMax=40M"])
        incident = self.killed_unit("upgraded.service", "/system.slice/upgraded.service")
        write_config(read_config() + "# of the administrator\n")
        kills = scrape().values("oomwitness_oom_kills_total", k8s_container_name="upgraded.service")
        total, old = scrape().sum("oomwitness_oom_kills_total"), main_pid()
        dpkg("-i", f"{INPUT}/new.deb")
        self.assertEqual((package_status(), show(UNIT, "ActiveState")), ("installed", "active"))
        wait_ready()
        self.assertNotEqual(main_pid(), old)
        self.assertEqual(os.readlink(f"/proc/{main_pid()}/exe"), "/usr/bin/oomwitness")  # not "(deleted)"
        text = read_config()
        self.assertIn("# of the administrator", text)
        self.assertNotIn("# of the newer version", text)
        self.assertTrue(os.path.exists(incident["_dir"]))
        with lost_if_it_fails():
            self.assertEqual(scrape().values("oomwitness_oom_kills_total", k8s_container_name="upgraded.service"), kills)
            self.assertEqual(scrape().sum("oomwitness_oom_kills_total"), total)

    def test_2_an_upgrade_leaves_a_disabled_unit_disabled(self):
        systemctl("disable", UNIT)
        dpkg("-i", f"{INPUT}/new.deb")
        self.assertEqual(systemctl("is-enabled", UNIT, status=None).strip(), "disabled")
        self.assertFalse(os.path.lexists(WANTED))

    def test_3_removed_it_is_gone_but_for_configuration_and_evidence(self):
        pid = main_pid()
        dpkg("-r", "oomwitness")
        self.assertEqual((package_status(), is_ready(), os.path.exists(f"/proc/{pid}")), ("config-files", False, False))
        self.assertEqual(show(UNIT, "LoadState"), "not-found")
        self.assertTrue(os.path.exists(CONFIG))
        self.assertTrue(os.listdir(f"{DATA}/incidents"))
        self.assertFalse(os.path.exists("/usr/bin/oomwitness"))

    def test_4_purged_nothing_is_left(self):
        dpkg("-P", "oomwitness")
        self.assertEqual(package_status(), "not-installed")
        self.assertEqual(own_files(), set())
        self.assertNotIn("oomwitness", run("systemctl", "list-unit-files", "--no-legend", "--no-pager"))
        self.assertEqual(systemctl("--failed", "--no-legend").strip(), "")
        for folder in ("/sys/fs/cgroup/system.slice/oomwitness.service", "/sys/fs/bpf/oomwitness"):
            self.assertFalse(os.path.exists(folder), folder)
