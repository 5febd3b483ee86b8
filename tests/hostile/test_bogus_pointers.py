# SPDX-License-Identifier: Apache-2.0
"""Attack: a program that claims to be Go, with 64 MiB of .bss in which each word is a pointer to nothing; and one whose
list of buckets spans 60,000 pages.

Seen: one live read took 13.5 s against its limit of 1 s, since reads that fail were not counted.
Must hold: the bars of hostile_case for a neighbour that starts beside four of them. The daemon itself follows no
pointer: what it reads in all is a small part of what the readers must have read.
"""
from harness import fileio, tools
from hostile_case import MIB, HostileTest, children, eventually


def bytes_read(pid):
    """Through read() and pread(), memory of others included; 0 for a process that is gone."""
    try:
        return next(int(line.split()[1]) for line in fileio.lines(f"/proc/{pid}/io") if line.startswith("rchar:"))
    except OSError:
        return 0


class BogusPointers(HostileTest):
    COUNT = 4
    LIST_BYTES = 128 * MIB  # of 60,000 pages with a bucket each, 234 MiB

    def test_a_neighbour_is_read_beside_them(self):
        self.fortress()
        for number in range(self.COUNT):
            box = self.cgroup(f"bogus{number}", 80)  # 64 of 80 MiB: above the first levels, too
            self.attack(box, [self.program("fake_go"), "pointers"]).wait_output("ready")
        self.kill_neighbour()
        self.assert_unhurt()

    def test_the_daemon_follows_no_list_of_a_living_process(self):
        witness = self.fortress()
        program = self.published(tools.go_program("1.19", "plain", "go-hostile"))
        box = self.cgroup("pages", 600)  # the list is below the first level
        self.attack(box, [program, "pages"]).wait_output("laid out")

        def live():
            return [e for e in witness.events("capture")
                    if e["cgroup"] == box.inode and e["method"] == "live" and e["result"] != "skipped"]

        taken = eventually(live, "it was read on the way to its limit", 30)
        by_readers, by_daemon = sum(map(bytes_read, children(witness.pid))), bytes_read(witness.pid)
        print(f"      {[(e['result'], e['reason'], e.get('sample_count')) for e in taken]}; {by_readers / MIB:.0f} MiB "
              f"read by readers, {by_daemon / MIB:.0f} MiB by the daemon", flush=True)
        read = [e for e in taken if e["reason"] != "gone"]  # of a process that has ended no job is made
        self.assertTrue(read, taken)
        eventually(lambda: witness.scrape().sum("oomwitness_reader_jobs_total", kind="live") >= len(read),
                   "the reader counted it", 30)
        self.assertGreater(by_readers, self.LIST_BYTES)
        self.assertLess(by_daemon, self.LIST_BYTES)
        self.assert_unhurt()
