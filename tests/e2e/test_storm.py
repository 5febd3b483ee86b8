# SPDX-License-Identifier: Apache-2.0
"""Many kills at once: every one counted, every one in an incident. tests/bench/storm.py has the numbers."""
import collections

from harness import tools
from harness.case import E2eTest
from harness.go_heap import at_kill
from harness.storm import Storm, victim
from harness.wait import eventually

LOST = "oomwitness_events_lost_total"
# Any of these would be a kill without evidence.
STAGES = ("ringbuf_kill", "incidents", "decode")


class StormTest(E2eTest):
    alone = True

    def containers(self, count, limit_mb):
        return [self.cgroup(f"s{number}", limit_mb) for number in range(count)]

    def kill_all(self, boxes, argv, per_second=0):
        with Storm(boxes, argv, per_second) as storm:
            storm.release()
            killed, other, seconds = storm.wait_over()
        self.assertEqual((killed, other), (len(boxes), 0))
        print(f"      {killed} kills within {seconds:.1f} s", flush=True)

    def assert_each_counted_once(self, witness, boxes):
        self.wait_counted(witness, len(boxes))
        scrape = witness.scrape()
        counts = {labels["k8s_container_name"]: value for labels, value in scrape.values("oomwitness_oom_kills_total")}
        self.assertEqual({box.name: counts.get(box.name) for box in boxes}, {box.name: 1 for box in boxes})
        self.assertEqual([box.name for box in boxes if box.kernel_kills() != 1], [], "the kernel's own counts")
        lost = {stage: scrape.sum(LOST, stage=stage) for stage in STAGES}
        self.assertEqual(lost, dict.fromkeys(STAGES, 0))
        self.assertEqual(scrape.sum("oomwitness_kernel_oom_kills_unobserved_total"), 0)

    def assert_each_has_its_incident(self, witness, boxes):
        incidents = self.wait_incidents(witness, len(boxes))
        victims = collections.Counter(i["container"]["cgroup_path"] for i in incidents for _ in i["victims"])
        self.assertEqual(victims, {box.path: 1 for box in boxes})
        self.assertEqual({i["scope"] for i in incidents}, {"container"})
        return incidents


class Kills(StormTest):
    def test_two_hundred_in_a_row(self):
        witness = self.daemon("[incidents]\nkeep_count = 100000\n")
        boxes = self.containers(200, 4)
        self.kill_all(boxes, victim(16), per_second=100)
        self.assert_each_counted_once(witness, boxes)
        self.assert_each_has_its_incident(witness, boxes)
        self.assert_stays_counted(witness, len(boxes))

    def test_fifty_at_once(self):
        witness = self.daemon()
        boxes = self.containers(50, 4)
        self.kill_all(boxes, victim(16))
        self.assert_each_counted_once(witness, boxes)
        self.assert_each_has_its_incident(witness, boxes)


class Retention(StormTest):
    loses_incidents = True  # that is what it is about

    def test_counts_outlive_the_incidents_that_retention_takes(self):
        witness = self.daemon("[incidents]\nkeep_count = 10\n")
        boxes = self.containers(40, 4)
        self.kill_all(boxes, victim(16))
        self.assert_each_counted_once(witness, boxes)
        total = lambda name: witness.scrape().sum(f"oomwitness_incidents_{name}_total")
        eventually(lambda: total("written") >= len(boxes), "every incident is written", 60)
        eventually(lambda: total("written") - total("pruned") <= 10, "retention's turn", 60)
        eventually(lambda: len(witness.incidents()) == total("written") - total("pruned"), "what is left is said", 60)
        self.wait_counted(witness, len(boxes))


class GoPrograms(StormTest):
    # More than the 24 that are sure of a first chunk each.
    COUNT = 32
    LIMIT_MB = 24
    REASONS = {"no_walk", "pool_full", "queue_full", "time_limit"}

    def test_every_go_victim_has_one_result_of_its_heap(self):
        witness = self.daemon()
        boxes = self.containers(self.COUNT, self.LIMIT_MB)
        program = [tools.leaky_go(), "-listen", "", "-rate", "0", "-profile-rate", "65536", "-wait-stdin"]
        known = lambda: sum(value for _, value in witness.scrape().values("oomwitness_go_processes"))
        before = known()
        with Storm(boxes, program) as storm:
            eventually(lambda: known() >= before + self.COUNT, "every program is known")
            storm.release()
            self.assertEqual(storm.wait_over()[:2], (self.COUNT, 0))
        self.assert_each_counted_once(witness, boxes)
        self.assert_each_has_its_incident(witness, boxes)
        results = collections.Counter(self.result_in(witness, box) for box in boxes)
        print("      " + ", ".join(f"{n} x {result}" for result, n in results.most_common()), flush=True)

    def result_in(self, witness, box):
        """Of the walk of the one victim there: whole, in part and why, or not and why."""
        def captures():
            found = at_kill(self.incidents_of(witness, box)[0])
            return found or None

        found = eventually(captures, lambda: f"a result of the walk in {box.path}", 30)
        self.assertEqual(len(found), 1, found)
        capture = found[0]
        if capture["result"] == "ok" and capture["complete"]:
            self.assertGreater(capture["inuse_bytes"], 0.5 * box.limit_bytes)
            return "whole"
        self.assertIn(capture["reason"], self.REASONS, capture)
        return f"{capture['result']} {capture['reason']}"


class CrashLoop(StormTest):
    loses_incidents = True  # its own
    def test_it_takes_nothing_from_its_neighbour_and_is_counted(self):
        witness = self.daemon("[incidents]\nkeep_count = 12\nrepeats_burst = 20\n")
        neighbour, loop = self.containers(2, 4)
        self.kill_all([neighbour], victim(16))
        for _ in range(40):
            self.kill_all([loop], victim(16))
        self.wait_counted(witness, 41)
        total = lambda name: witness.scrape().sum(f"oomwitness_{name}_total")
        eventually(lambda: total("incidents_written") + total("oom_kills_repeated") == 41, "each is in an incident", 60)
        eventually(lambda: len(witness.incidents()) <= 12, "retention's turn", 60)
        of = lambda box: [i for i in witness.incidents() if i["container"]["cgroup_path"] == box.path]
        self.assertEqual(len(of(neighbour)), 1)
        repeats = lambda: sum(i["repeats"]["count"] for i in of(loop) if i.get("repeats"))
        eventually(lambda: repeats() > 10, "the repeats are in the newest incident", 60)
        print(f"      {repeats()} repeats", flush=True)
