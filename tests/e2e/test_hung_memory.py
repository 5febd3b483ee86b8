# SPDX-License-Identifier: Apache-2.0
"""A process whose own memory does not answer: its command line cannot be read, and nobody else may notice."""
import errno
import os
import sys

from harness import fuse
from harness.case import E2eTest
from harness.metrics import get
from harness.wait import eventually

# Puts a file over the pages that hold its command line and environment. Whoever reads those through /proc takes the
# mmap_lock, faults the page in, and waits for the file system with the lock held.
VICTIM = """
import ctypes, os, sys, time
fields = open("/proc/self/stat").read().rsplit(")", 1)[1].split()
begin, end = int(fields[45]) & ~4095, (int(fields[48]) + 4095) & ~4095
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
fd = os.open(sys.argv[1], os.O_RDONLY)
ready = os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT)
assert libc.mmap(begin, end - begin, 3, 0x12, fd, 0) == begin  # PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED
os.write(ready, b"ready")
time.sleep(1000)
"""


class HungMemory(E2eTest):
    def setUp(self):
        super().setUp()
        if not fuse.is_there():
            self.skipTest("no /dev/fuse")
        folder, pages = os.path.join(self.scratch, "fuse"), os.path.join(self.scratch, "pages")
        os.mkdir(folder)
        with open(pages, "wb") as f:
            f.write(bytes(1 << 20))
        try:
            self.files = fuse.HangingFileSystem(folder, pages)
        except OSError as e:
            if e.errno not in (errno.EPERM, errno.ENODEV):
                raise
            self.skipTest(str(e))
        self.addCleanup(self.files.close)

    def start_hung(self, name):
        ready = os.path.join(self.scratch, name + ".ready")
        self.start([sys.executable, "-c", VICTIM, self.files.path, ready], self.cgroup(name, 64))
        eventually(lambda: os.path.exists(ready) and os.path.getsize(ready) > 0, lambda: f"{name} is ready")

    def test_kills_of_others_have_their_names_and_the_core_thread_goes_on(self):
        for number in range(3):
            self.start_hung(f"hung{number}")
        self.files.hang()
        witness = self.daemon()  # it reads every process of the node at its start
        lost = lambda: witness.scrape().sum("oomwitness_events_lost_total", stage="process_arguments")
        eventually(lambda: lost() >= 1, lambda: "a reading that hangs is given up")
        self.assertGreater(self.files.unanswered, 0)
        box = self.cgroup("other", 64)
        victim = self.leaky_go(box, "-rate", "50")
        victim.wait_killed()
        named = lambda: [v["cmdline"] for i in self.incidents_of(witness, box) for v in i["victims"] if v["cmdline"]]
        eventually(named, lambda: "the other's command line")
        self.assertEqual(named(), [" ".join(victim.argv)])
        self.assertEqual(get(witness.url("/healthz"))[0], 200)
        self.assertLess(witness.scrape().sum("oomwitness_core_stall_seconds"), 5)
        # The kernel lets no thread that waits for the page end, not even by SIGKILL: the daemon ends after this.
        self.files.close()
