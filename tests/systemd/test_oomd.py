# SPDX-License-Identifier: Apache-2.0
"""systemd-oomd, which kills from user space before the kernel has to: distinguished from the kernel's OOM killer."""
import os

from guest import DATA, MEMHOG, UNIT, GuestTest, journal, run, scrape, show, systemctl
from harness import fileio
from harness.daemon import read_incidents
from harness.wait import eventually, lost_if_it_fails

CONFIG = "/run/systemd/oomd.conf.d/cases.conf"
# Reads a file again and again that does not fit beside what it holds: pressure without end, and no kernel kill, since
# page cache can always be reclaimed.
THRASH = """
import mmap
held = bytearray(30 << 20)
with open("/var/tmp/thrashed", "wb+") as f:
    for _ in range(100):
        f.write(bytes(1 << 20))
    f.flush()
    pages = mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ)
    while True:
        for at in range(0, len(pages), 4096):
            pages[at]
"""


def kernel_kills():
    """All that the kernel's OOM killer has ever killed: of this boot, and below system.slice."""
    counts = {}
    for path in ("/proc/vmstat", "/sys/fs/cgroup/system.slice/memory.events"):
        counts[path] = dict(line.split() for line in fileio.lines(path))["oom_kill"]
    return counts


class Oomd(GuestTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        os.makedirs(os.path.dirname(CONFIG), exist_ok=True)
        fileio.write(CONFIG, "[OOM]\nDefaultMemoryPressureDurationSec=1s\n")  # the least it takes
        systemctl("restart", "systemd-oomd.service")

    def test_its_kill_is_no_kill_of_the_kernel_s(self):
        unit, path = "pressed.service", "/system.slice/pressed.service"
        self.addCleanup(lambda: os.path.exists("/var/tmp/thrashed") and os.remove("/var/tmp/thrashed"))
        before, counted = kernel_kills(), scrape().sum("oomwitness_oom_kills_total")
        self.run_unit(unit, ["/usr/bin/python3", "-c", THRASH], properties=[
            "MemoryMax=60M", "MemoryHigh=55M", "ManagedOOMMemoryPressure=kill", "ManagedOOMMemoryPressureLimit=1%"])
        eventually(lambda: show(unit, "ActiveState") == "failed", lambda: run("oomctl", status=None))
        # The same result as of a kernel's kill: systemd alone cannot distinguish them.
        self.assertEqual(show(unit, "Result"), "oom-kill")
        self.assertIn(f"Killed {path} due to memory pressure", journal("-u", "systemd-oomd.service"))
        self.assertEqual(kernel_kills(), before)
        # A kill by the kernel after it, so that any output of the daemon about the first has been written.
        self.run_unit("after.service", [MEMHOG, "--rate-mb-s", "0"], properties=["MemoryMax=40M"])
        self.killed_unit("after.service", "/system.slice/after.service")
        self.assertEqual([i["id"] for i in read_incidents(DATA) if i["container"]["cgroup_path"] == path], [])
        with lost_if_it_fails():
            self.assertEqual(scrape().sum("oomwitness_oom_kills_total"), counted + 1)
        self.assertIn(f"systemd-oomd killed all processes of {path}", journal("-u", UNIT, "-p", "warning"))
        self.assertEqual(scrape().values("oomwitness_systemd_oomd_kills_total"), [({}, 1)])
        self.assertEqual(self.kernel_log.decisions(path), [])
