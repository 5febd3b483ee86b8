# SPDX-License-Identifier: Apache-2.0
"""A process whose own memory does not answer: its command line cannot be read, and nobody else may notice."""
import os
import sys

from harness import fileio, fuse
from harness.case import E2eTest
from harness.metrics import get
from harness.wait import eventually

# One thread reads a page of a file through /proc/self/mem and holds the mmap_lock while the file system is silent;
# the other wants the lock for itself. From then on every reader of the command line waits behind that one. (A file over
# the command line itself stops nobody: the kernel shows only anonymous pages there, since 4.17.)
VICTIM = """
import mmap, os, sys, threading, time
import ctypes
page = mmap.mmap(os.open(sys.argv[1], os.O_RDONLY), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
memory = os.open("/proc/self/mem", os.O_RDONLY)
os.mkdir(sys.argv[3])  # ready
while not os.path.exists(sys.argv[2]):
    time.sleep(0.02)
threading.Thread(target=os.pread, args=(memory, 1, address)).start()
time.sleep(0.5)
mmap.mmap(-1, 1 << 20)
time.sleep(1000)
"""


class HungMemory(E2eTest):
    alone = True
    patience = 1

    def setUp(self):
        super().setUp()
        pages = os.path.join(self.scratch, "pages")
        fileio.write(pages, bytes(1 << 20))
        self.files = fuse.mounted(self, os.path.join(self.scratch, "fuse"), pages)

    def start_hung(self, name, go):
        ready = os.path.join(self.scratch, name + ".ready")
        victim = self.start([sys.executable, "-c", VICTIM, self.files.path, go, ready], self.cgroup(name, 64))
        eventually(lambda: os.path.isdir(ready), lambda: f"{name} is ready")
        return victim

    def hang(self, victims, go):
        self.files.hang()
        open(go, "w").close()

        def waits():
            """The first thread, for the lock that the other one holds."""
            states = [open(f"/proc/{v.pid}/stat").read().rsplit(")", 1)[1].split()[0] for v in victims]
            return set(states) == {"D"}

        eventually(waits, lambda: "each wants to map memory and cannot")

    def test_kills_of_others_have_their_names_and_the_core_thread_goes_on(self):
        go = os.path.join(self.scratch, "go")
        self.hang([self.start_hung(f"hung{number}", go) for number in range(3)], go)
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
