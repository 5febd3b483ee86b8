# SPDX-License-Identifier: Apache-2.0
"""Attack: a list of sound profile buckets, each on a page of its own: 60,000 pages for the walk at the kill.

Seen: 58 ms in which the kernel could not preempt, for each kill; a daemon of 82 to 106 MiB when it decoded walks itself;
a neighbour's walk that waited 5.4 s for two attackers' to be decoded, at a load of 15.
Must hold: the bars of hostile_case for a neighbour killed at the same time; the attacker's walk ends with a reason.
"""
from harness import tools
from hostile_case import HostileTest, at_kill, eventually


class BucketPages(HostileTest):
    def test_a_list_over_60000_pages_costs_the_attacker(self):
        witness = self.fortress()
        program = self.published(tools.go_program("1.19", "plain", "go-hostile"))
        boxes, works = [], []
        for number in range(2):
            box = self.cgroup(f"pages{number}", 300)
            work = self.attack(box, [program, "pages"])
            work.wait_output("laid out")
            boxes.append(box)
            works.append(work)
        self.kill_neighbour()
        for work in works:
            work.wait_killed()
        for box in boxes:
            found = eventually(lambda: [c for i in self.incidents_of(witness, box) for c in at_kill(i)], "its walk", 30)
            print(f"      {[(c['result'], c['reason'], c['complete'], c.get('duration_ms')) for c in found]}", flush=True)
            self.assertTrue(all(c["reason"] for c in found if not c["complete"]), found)
        self.assert_unhurt()
