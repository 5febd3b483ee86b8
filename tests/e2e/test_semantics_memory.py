# SPDX-License-Identifier: Apache-2.0
"""What kind of memory it was: huge pages, tmpfs, page cache, swap."""
import os

from harness import cgroup as cgroups
from harness import fileio, tools
from harness.case import MIB
from harness.process_state import field_bytes
from harness.semantics import Process, SemanticsTest
from harness.wait import TIME_FACTOR, eventually


class HugePages(SemanticsTest):
    config = "[triggers]\ncooldown_seconds = 0\n"

    def huge_bytes(self, work):
        """Of the process: memory.stat of 5.10 lags behind by 32 huge pages for each CPU."""
        return field_bytes(f"/proc/{work.pid}/smaps_rollup", "AnonHugePages")

    def test_growth_by_huge_pages_crosses_watermarks_before_the_kill(self):
        if "[never]" in fileio.read("/sys/kernel/mm/transparent_hugepage/enabled"):
            self.skipTest("transparent huge pages are off on this machine")
        box = self.cgroup("huge", 96)
        served = self.leaky_go(box, "-rate", "10", "-limit-mb", "2")
        served.wait_output("limit reached")
        server = Process(served.pid)
        rate = round(20 / TIME_FACTOR)  # 1 s of a real CPU from the first level to the limit, for the capture there
        work = self.hog(box, "--hold-mb", 40, "--rate-mb-s", rate, "--huge", 1, oom_score_adj=500)
        self.assertGreaterEqual(self.huge_bytes(work), 30 * MIB, "the workload has no huge pages")
        self.go()
        work.wait_killed()
        incident = self.assert_decision("container", box, [work.identity], trigger=[work.identity, server])
        levels = {m["level_percent"]: m for m in incident["pressure"]["watermarks"] if m["reason"] == "level"}
        self.assertLessEqual({80, 90}, set(levels), incident["pressure"])
        # One piece is 2 of 96 MB: no crossing is reported later than one piece after it.
        for percent in (80, 90):
            self.assertLessEqual(levels[percent]["usage_bytes"], box.limit_bytes * percent / 100 + 4 * MIB, levels)
        early = [c for c in incident["captures"] if c["result"] == "ok" and c["lead_seconds"] > 0]
        self.assertTrue(early, incident["captures"])
        self.assertGreaterEqual(max(c["usage_bytes"] for c in early), 0.8 * box.limit_bytes)


class Files(SemanticsTest):
    """Memory that stays when its writer dies."""

    config = "[sampler]\nslow_seconds = 1\n"

    def kill_writer(self, kind, box):
        folder = self.mount(kind)
        work = self.start([tools.filehog(), folder + "/file", "--rate-mb-s", "50"], box)
        work.wait_output("ready")
        identity = Process(work.pid)
        work.wait_killed()
        incident = self.assert_decision("container", box, [identity])
        rss = incident["victims"][0]["rss"]
        self.assertLess(rss["anon_bytes"] + rss["shmem_bytes"], 6 * MIB, "the victim itself holds next to nothing")
        return incident

    def test_tmpfs_is_told_by_memory_stat(self):
        box = self.cgroup("tmpfs", 32)
        incident = self.kill_writer("tmpfs", box)
        self.assertGreater(incident["memory_stat"]["shmem"], 0.8 * box.limit_bytes)
        self.assertEqual(incident["verdict"]["cause"], "page_cache_or_tmpfs")
        self.check_told_by_the_kernel(incident)

    def check_told_by_the_kernel(self, incident):
        """What is written and not mapped changes no resident set: it is reported where reclaim begins, at the latest. After
        the kill the victim's own pages go, and then it would be reported as well."""
        if self.witness.rung_of("watermark") == "files":
            self.skipTest("usage is polled here")
        early = [m for m in incident["pressure"]["watermarks"] if m["reason"] == "level" and m["lead_seconds"] > 0]
        self.assertEqual(max((m["level_percent"] for m in early), default=None), 95, incident["pressure"])

    def test_page_cache_that_cannot_be_reclaimed(self):
        """ramfs: page cache without a disk behind it, as dirty pages are that cannot be written."""
        box = self.cgroup("ramfs", 32)
        incident = self.kill_writer("ramfs", box)
        stat = incident["memory_stat"]
        self.assertGreater(stat["file"], 0.8 * box.limit_bytes)
        self.assertLess(stat["shmem"], MIB)
        self.assertEqual(incident["verdict"]["cause"], "page_cache_or_tmpfs")

    def big_files(self, wanted_bytes):
        """Files of this machine, out of its page cache: the next reader is charged for them."""
        found, total = [], 0
        entries = [e for folder in ("/usr/bin", "/usr/lib/x86_64-linux-gnu") for e in os.scandir(folder)]
        for entry in entries:
            if not entry.is_file(follow_symlinks=False) or entry.stat().st_size < 4 * MIB or total >= wanted_bytes:
                continue
            with open(entry.path, "rb") as f:
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            found.append(entry.path)
            total += entry.stat().st_size
        if total < wanted_bytes:
            self.skipTest(f"{total >> 20} MB of big files to read, wanted are {wanted_bytes >> 20}")
        return found

    def test_page_cache_at_the_limit_is_no_decision(self):
        box = self.cgroup("cache", 24)
        files = self.big_files(100 * MIB)
        reader = self.start(["/bin/sh", "-c", 'exec cat "$@" > /dev/null', "sh", *files], box, own_netns=False)
        eventually(lambda: reader.process.poll() is not None, "the files are read")
        self.assertGreater(box.usage(), 0.9 * box.limit_bytes, "the cache must fill the cgroup")
        self.assert_no_decision()


class Swap(SemanticsTest):
    def test_memory_and_swap_limit_of_v1(self):
        """As kubelet sets it: both the same, so that there is no swap to use."""
        if cgroups.VERSION != 1:
            self.skipTest("cgroup v2 has a limit of its own for swap")
        box = self.cgroup("memsw", 24)
        if not os.path.exists(box.directory + "/memory.memsw.limit_in_bytes"):
            self.skipTest("this kernel does not account swap (swapaccount=0)")
        box.write("memory.memsw.limit_in_bytes", str(box.limit_bytes))
        work = self.kill_in(box)
        self.assert_decision("container", box, [work.identity])

    def swapping_box(self, swap_mb, name="swapping"):
        if field_bytes("/proc/meminfo", "SwapTotal") < (swap_mb + 16) * MIB:
            self.skipTest("no swap on this machine (a VM of tests/vm has some: OOMW_VM_SWAP_MB)")
        self.need_v2("limit for swap alone")
        box = self.cgroup(name, 24)
        if not os.path.exists(box.directory + "/memory.swap.max"):
            self.skipTest("this kernel does not account swap (swapaccount=0)")
        box.write("memory.swap.max", str(swap_mb * MIB))
        return box

    def was_full(self, box, swap_mb):
        """7.2 no longer counts the charges that the limit refused; what was most is shown from 6.5 on."""
        if os.path.exists(box.directory + "/memory.swap.peak"):
            return int(box.read("memory.swap.peak")) > (swap_mb - 1) * MIB
        return int(dict(line.split() for line in box.read("memory.swap.events").splitlines())["max"]) > 0

    def test_kill_comes_when_swap_is_full_too(self):
        """Where pages are still on their way to a slow disk, 5.10 gives up and kills before: such a kill is one, too."""
        for attempt in range(3):
            box = self.swapping_box(16, f"swapping{attempt}")
            work = self.kill_in(box, 50)
            incident = self.assert_decision("container", box, [work.identity])
            self.assertLessEqual(incident["usage_bytes"], box.limit_bytes + MIB, "usage is memory, swap is not in it")
            if self.was_full(box, 16):
                return
        self.fail("the kill came before swap was full, three times")

    def test_swapping_without_a_kill_is_no_decision(self):
        box = self.swapping_box(64)
        work = self.hog(box, "--hold-mb", 4, "--rate-mb-s", 50, "--leak-mb", 36)
        self.go()
        eventually(lambda: int(box.read("memory.swap.current")) > 8 * MIB, "it swaps")
        self.assertTrue(work.is_alive())
        self.assert_no_decision()
