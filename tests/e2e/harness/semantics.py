# SPDX-License-Identifier: Apache-2.0
"""The base of the tests of what a kill means: one OOM decision, compared with the kernel's own record."""
import functools
import json
import os
import subprocess
import tempfile

from . import fileio
from . import cgroup as cgroups
from .case import MIB, E2eTest
from .daemon import run_cli, running_daemon
from .kernel_log import KernelLog
from .text_time import unix
from .wait import eventually

RUNGS = ("fentry", "tp_btf", "raw_tp", "files")
# A reading may differ from the limit by this: pages charged in advance, 64 for each CPU.
STOCK = 64 * 4096 * os.cpu_count()


def config_of(rung):
    return f'[kernel.best_rung]\noom_kill = "{rung}"\n' if rung else ""


@functools.lru_cache(maxsize=None)
def doctor(rung):
    """The feature oom_kill in `oomwitness doctor --json`, with that rung as the best allowed."""
    with tempfile.TemporaryDirectory(prefix="oomw-e2e-") as folder:
        path = os.path.join(folder, "oomwitness.toml")
        fileio.write(path, config_of(rung))
        done = run_cli("doctor", "--json", "--config", path, "--data-dir", os.path.join(folder, "data"))
    return next(f for f in json.loads(done.stdout)["features"] if f["feature"] == "oom_kill")


class Process:
    """A living process, remembered for when it is not."""

    def __init__(self, pid):
        text = fileio.read_bytes(f"/proc/{pid}/stat")
        self.pid = pid
        self.comm = text[text.index(b"(") + 1:text.rindex(b")")].decode(errors="surrogateescape")
        self.start_ticks = int(text.rpartition(b")")[2].split()[19])

    def __repr__(self):
        return f"{self.comm} {self.pid}"


class SemanticsTest(E2eTest):
    """Gives a daemon (`witness`), workloads that start to leak on a word, and assert_decision().

    One daemon for all tests that want it alike: on an emulated CPU it takes longer to start than a test.
    """

    alone = True

    rung = None  # of oom_kill; None: the best that this kernel offers
    config = ""

    def setUp(self):
        super().setUp()
        self.kernel_log = self.closing(KernelLog())
        self.witness = running_daemon(config_of(self.rung) + self.config)
        self.daemons.append(self.witness)
        self.rung_in_force = self.witness.rung_of("oom_kill")
        self.go_file = os.path.join(self.scratch, "go")
        if self.rung and self.rung_in_force != self.rung:
            refused = [r["reason"] for r in doctor(self.rung)["refused"] if r["rung"] == self.rung]
            self.skipTest(f"oom_kill on {self.rung}: {'; '.join(refused) or 'not offered'}")

    def lost(self):
        """What this rung cannot know, by doctor."""
        return doctor(self.rung)["lost"]

    # --- workloads

    def hog(self, box, *flags, **kwargs):
        """A memhog that has touched its --hold-mb and leaks from go() on; its `identity`."""
        kwargs.setdefault("own_netns", False)  # it has no endpoint; one is half a second of an emulated CPU
        work = self.memhog(box, "--wait-file", self.go_file, *map(str, flags), **kwargs)
        work.wait_output("ready")
        work.identity = Process(work.pid)
        return work

    def go(self):
        open(self.go_file, "w").close()

    def kill_in(self, box, rate=100):
        """A hog that has been killed. The next one waits for a go() of its own."""
        work = self.hog(box, "--hold-mb", 4, "--rate-mb-s", rate)
        self.go()
        work.wait_killed()
        os.remove(self.go_file)
        return work

    def processes_in(self, box, comm, count=1):
        """Those of that name in the cgroup, once there are as many, by pid."""
        def all_there():
            found = []
            for pid in box.pids():
                try:
                    found.append(Process(pid))
                except (FileNotFoundError, ProcessLookupError):
                    pass
            found = [p for p in found if p.comm == comm]
            return found if len(found) >= count else None

        return sorted(eventually(all_there, f"{count} {comm} in {box.path}"), key=lambda p: p.pid)

    def mount(self, kind, options="mode=0700"):
        """A file system of that kind, empty; gone after the test, and what lies in it."""
        folder = tempfile.mkdtemp(prefix=f"{kind}-", dir=self.scratch)
        subprocess.run(["mount", "-t", kind, "-o", options, "oomw-e2e", folder], check=True)
        self._stack.callback(subprocess.run, ["umount", "-l", folder], check=True)
        return folder

    # --- what must be true of every decision

    def decision_of(self, incident):
        """The kernel's own record of it; exactly one may name these victims."""
        pids = sorted(v["pid"] for v in incident["victims"])
        decisions = self.kernel_log.decisions("/" + self.prefix, pids)
        found = [d for d in decisions if sorted(d.killed) == pids]
        self.assertEqual(len(found), 1, f"victims {pids}: {decisions}")
        return found[0]

    def counted_again(self, path_prefix):
        return sum(d.counted_again for d in self.kernel_log.decisions(path_prefix))

    def kernel_kills(self):
        """Processes, not kills: the kernel counts the chosen one of a group twice."""
        return super().kernel_kills() - self.counted_again("/" + self.prefix)

    def assert_every_kill_seen(self):
        """... and there are as many incidents as the kernel made decisions; where it kept back the line of one (it prints ten in
        5 s), victims of the same moment may be one group's, and only the decisions that it told are counted. Likewise two decisions
        with the same trigger on v2, where the data source does not record the decision: the second may follow 4 ms later."""
        super().assert_every_kill_seen()
        incidents = self.incidents_of(self.witness)
        decisions = self.kernel_log.decisions("/" + self.prefix, [v["pid"] for i in incidents for v in i["victims"]])
        told = [d for d in decisions if d.trigger_comm is not None]
        if cgroups.VERSION == 2 and any("decision_ns" not in kill for kill in self.witness.events("oom_kill")):
            told = {(d.trigger_pid, d.owner_path) for d in told}
        if len(told) == len(decisions):
            self.assertEqual(len(incidents), len(decisions), decisions)
        self.assertTrue(len(told) <= len(incidents) <= len(decisions), (len(incidents), decisions))

    def assert_decision(self, scope, box, victims, owner=None, trigger=None, trigger_tid=None, most_usage=None):
        """One OOM decision has become one incident and is counted as such; returns the incident.

        box: the cgroup of the victims; owner: whose limit it was (box); trigger: a Process or several that it may
        have been (the first victim); trigger_tid: its allocating thread (the leader); most_usage: in bytes (the limit).
        """
        incident = self.wait_victims(len(victims), box)
        owner = box if owner is None else owner
        most_usage = (most_usage or owner.limit_bytes) + STOCK
        triggers = trigger if isinstance(trigger, list) else [trigger or victims[0]]
        self.assertEqual(incident["scope"], scope)
        self.assertEqual(incident["container"]["cgroup_path"], box.path)
        self.assertEqual(incident["container"]["cgroup_id"], box.inode)
        self.check_victims(incident, victims)
        self.check_limit(incident, owner, most_usage)
        logged = self.decision_of(incident).trigger_pid
        triggers = [t for t in triggers if t.pid == logged] or triggers
        self.check_trigger(incident, triggers)
        self.check_series(incident, most_usage)
        self.check_counts(box, scope)
        self.check_against_log(incident, box, owner)
        if len(triggers) == 1 and logged is not None:
            self.assertEqual(logged, trigger_tid or triggers[0].pid, "another triggered it than this test believes")
        return incident

    def wait_victims(self, count, box=None):
        """The one incident, once it names as many: it is written before the last of many is dead, and again after."""
        def is_whole():
            found = self.wait_incidents(self.witness, 1, box)[0]
            return found if len(found["victims"]) >= count else None

        return eventually(is_whole, f"an incident with {count} victims")

    def check_victims(self, incident, victims):
        said = [(v["pid"], v["tgid"], v["comm"], v["start_ticks"]) for v in incident["victims"]]
        self.assertEqual(sorted(said), sorted((p.pid, p.pid, p.comm, p.start_ticks) for p in victims))
        unread = [v["pid"] for v in incident["victims"] if v["rss"] is None]
        if unread:  # mark_victim(int pid) leads to no other task than the allocating one
            self.assertIn("known by its pid only", self.lost(), unread)
            self.assertNotIn(incident["trigger"]["pid"], unread)

    def check_owner(self, incident, limit_bytes, path):
        self.assertEqual((incident["limit"]["bytes"], incident["limit"]["owner_cgroup_path"]), (limit_bytes, path))

    def check_limit(self, incident, owner, most_usage):
        self.check_owner(incident, owner.limit_bytes, owner.path)
        total = incident["limit"].get("total_bytes")  # what there was to choose from: with swap more than the limit
        self.assertEqual(total is not None, self.rung_in_force == "fentry", incident["limit"])
        self.assertGreaterEqual(total or owner.limit_bytes, owner.limit_bytes)
        usage = incident["usage_bytes"]
        if usage is None and self.rung_in_force == "files":  # read when part of it may be gone
            self.assertTrue(any(n.startswith("usage_bytes:") for n in incident["notes"]), incident["notes"])
            return
        if not any(n.startswith("usage_bytes: read") for n in incident["notes"]):
            self.assertGreater(usage, owner.limit_bytes - STOCK - 2 * MIB)
            self.assertLessEqual(usage, most_usage)
        is_resolved = any(n.startswith("limit.owner_cgroup_path: resolved") for n in incident["notes"])
        self.assertEqual(is_resolved, self.rung_in_force in ("tp_btf", "raw_tp"), incident["notes"])

    def check_trigger(self, incident, triggers):
        said = incident["trigger"]
        if self.rung_in_force == "files" and said["pid"] is None:
            self.assertTrue(any(n.startswith("trigger.pid:") for n in incident["notes"]), incident["notes"])
            self.assertIn("trigger", self.lost())
            return
        self.assertIn((said["pid"], said["comm"]), [(t.pid, t.comm) for t in triggers])

    def check_series(self, incident, most_usage):
        series = incident["series"]
        self.assertTrue(series, "no point of usage at all")
        times = [unix(p["t"]) for p in series]
        self.assertEqual(times, sorted(times))
        self.assertTrue(all(0 <= p["usage_bytes"] <= most_usage for p in series), series)

    def check_counts(self, box, scope):
        """oom_kills_total of this container: the kernel's own count, all of it in that scope."""
        kernel = box.kernel_kills() - self.counted_again(box.path)
        have = lambda: {l["scope"]: v for l, v in self.witness.scrape().values("oomwitness_oom_kills_total",
                                                                               k8s_container_name=box.name) if v}
        eventually(lambda: have() == {scope: kernel}, lambda: f"oom_kills_total {have()}, kernel {kernel}", 10)

    def check_against_log(self, incident, box, owner):
        said = self.decision_of(incident)
        if said.victim_path is None:
            return  # rate-limited: the pids are all that the kernel logged
        self.assertEqual((said.owner_path, said.victim_path), (owner.path, box.path))
        if incident["trigger"]["comm"] is not None:
            self.assertEqual(incident["trigger"]["comm"], said.trigger_comm)

    def assert_no_decision(self):
        self.assertEqual(self.kernel_log.decisions("/" + self.prefix), [])
        self.assertEqual(self.incidents_of(self.witness), [])
        self.assertEqual(self.counted(self.witness), 0)
        self.assertEqual(self.kernel_kills(), 0)

    def need_v2(self, what):
        if cgroups.VERSION != 2:
            self.skipTest(f"cgroup v1 has no {what}")
