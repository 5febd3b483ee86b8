# SPDX-License-Identifier: Apache-2.0
"""Endpoints that lie and containers that vanish: every attempt ends in a reason."""
import os

from harness import fileio, tools
from harness.case import E2eTest
from harness.daemon import CAPTURE_AT_80
from harness.process_state import is_asked
from harness.wait import eventually

# mode -> the reasons that are true for it
REASONS = {
    "hang": {"timeout"},
    "drip": {"timeout"},
    "stream": {"too_large", "timeout"},
    "status": {"http_status"},
    "redirect": {"redirect"},
    "html": {"not_a_profile"},
    "half_gzip": {"truncated", "not_a_profile"},
    "reset": {"truncated", "refused"},
    "huge_header": {"too_large", "http_status", "truncated", "timeout", "not_a_profile"},
    "bomb": {"too_large"},
}
# One attempt each, at 80 %: the rest of the way to the limit must not add "cooldown" noise. 3 s, so that only those
# endpoints are late that mean to be: the others answer at once, but on a busy machine that is not always within 1 s.
CONFIG = CAPTURE_AT_80 + """
[capture.http]
timeout_seconds = 3
max_body_bytes = 4194304
"""


def captures_of(witness, box):
    """Attempts over HTTP on this cgroup so far; [(result, reason)]."""
    return [(e["result"], e["reason"]) for e in witness.events("capture") if e["cgroup"] == box.inode and e["method"] == "http"]


class HostileEndpoint(E2eTest):
    patience = 1
    LIMIT_MB, FILL_MB = 96, 76  # with the interpreter 85 % of the limit

    def start_mode(self, mode, go_file):
        box = self.cgroup(mode, self.LIMIT_MB)
        work = self.start(["/usr/bin/python3", tools.hostile_endpoint(), mode, str(self.FILL_MB), "40", go_file], box)
        return box, work

    def test_hostile_endpoint_is_explained(self):
        witness = self.daemon(CONFIG, args=["--json"])
        go = os.path.join(self.scratch, "go")
        started = {}
        for mode in REASONS:  # one after the other: waiting for a worker must not spend their deadline
            started[mode] = box, work = self.start_mode(mode, go)
            work.wait_output("filled")
            eventually(lambda: captures_of(witness, box), lambda: f"an attempt on {mode}; {work.describe()}")
        open(go, "w").close()
        for _, work in started.values():
            work.wait_killed()
        self.wait_incidents(witness, len(REASONS))
        for mode, (box, _) in started.items():
            with self.subTest(mode=mode):
                self.check(mode, self.wait_incidents(witness, 1, box)[0])

    def check(self, mode, incident):
        results = {(c["result"], c["reason"]) for c in incident["captures"] if c["method"] == "http"}
        reasons = {reason for result, reason in results if result == "failed"}
        self.assertTrue(reasons & REASONS[mode], f"{mode}: {incident['captures']}")
        self.assertNotIn("ok", {result for result, _ in results})
        report = fileio.read(os.path.join(incident["_dir"], "report.md"))
        self.assertNotIn("\x1b", report)
        self.assertNotIn("<script>", report)


class Vanishing(E2eTest):
    def test_container_vanishing_mid_capture_is_a_reason(self):
        witness = self.daemon(CONFIG.replace("timeout_seconds = 3", "timeout_seconds = 10"), args=["--json"])
        box = self.cgroup("vanishing", 96)
        go = os.path.join(self.scratch, "never")
        work = self.start(["/usr/bin/python3", tools.hostile_endpoint(), "hang", "76", "40", go], box)
        work.wait_output("filled")
        eventually(lambda: is_asked(work.pid), "the daemon has connected")
        work.close()
        box.close()
        (result, reason), = eventually(lambda: captures_of(witness, box), "the capture ends in a result")
        self.assertEqual(result, "failed")
        self.assertIn(reason, {"gone", "refused", "timeout", "truncated"})
        self.assertEqual(self.incidents_of(witness), [])
        self.assertTrue(witness.is_ready())


class MemStats(E2eTest):
    """A Go program's own figures show what its heap profile cannot."""

    CAPTURE_AT_60 = CONFIG.replace("[80]", "[60]")

    def kill_one(self, witness, name):
        """The incident of a Go program whose MemStats were read while it idled, and those figures."""
        box = self.cgroup(name, 128)
        # Each allocation sampled: an estimate may claim all that the process held.
        work = self.leaky_go(box, "-prefill-mb", "60", "-rate", "60", "-limit-mb", "90", "-profile-rate", "1")
        eventually(lambda: ("ok", "") in captures_of(witness, box), lambda: f"a profile over HTTP; {work.describe()}")
        self.memhog(box, "--rate-mb-s", "100", "--leak-mb", "40")  # the larger one, which idles, is killed
        work.wait_killed()
        # The kernel may kill the other one, too: it does where the first one's memory is still held when it has gone.
        its_own = lambda: [i for i in self.incidents_of(witness, box) if i["victims"][0]["pid"] == work.pid]
        incident = eventually(its_own, "its incident")[0]
        return incident, [c["memstats"] for c in incident["captures"] if c["method"] == "http" and "memstats" in c]

    def test_memory_beside_the_heap_is_taken_apart(self):
        witness = self.daemon(self.CAPTURE_AT_60, args=["--json"])
        for attempt in range(3):  # they have a second to come in, which a busy machine may not give them
            incident, told = self.kill_one(witness, f"memstats{attempt}")
            if told:
                break
        self.assertEqual(len(told), 1, incident["captures"])
        parts = {p["part"]: p["bytes"] for p in incident["reconciliation"]["parts"]}
        self.assertEqual(parts["go_stacks"], told[0]["StackInuse"])
        self.assertGreater(parts["go_runtime"], 1 << 20)
        self.assertLessEqual(parts["go_runtime"],
                             sum(told[0][n] for n in ("MSpanSys", "MCacheSys", "BuckHashSys", "GCSys", "OtherSys")))
        self.assertNotIn("go_beside_heap", parts)
        whole = sum(parts.values()) + incident["reconciliation"]["unexplained_bytes"]
        self.assertEqual(whole, incident["reconciliation"]["total_bytes"])
