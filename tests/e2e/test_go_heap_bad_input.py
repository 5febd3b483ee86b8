# SPDX-License-Identifier: Apache-2.0
"""Programs that lie about their heap, become others, or lose their file: bounded, explained, never mixed up."""
import os
import shutil

from harness import fileio, pprof, tools
from harness.daemon import run_cli
from harness.go_heap import LEAK, GoHeapTest, at_kill


class HostileLists(GoHeapTest):
    """Each mode: the daemon lives, reports why the list is invalid, and the next honest victim is complete."""

    def check_mode(self, mode, reasons):
        witness = self.daemon()
        box = self.cgroup(mode, self.LIMIT_MB if mode != "long" else 500)
        work = self.start([tools.go_program("1.19", "plain", "go-hostile"), mode], box)
        work.wait_output("laid out")
        work.wait_killed()
        _, capture = self.at_kill_of(witness, box)
        self.assertFalse(capture["result"] == "ok" and capture["complete"], capture)
        self.assertIn(capture["reason"], reasons, capture)
        self.assertTrue(witness.is_ready())
        self.assert_complete(witness, self.kill_leaker("honest"))

    def test_loop_is_explained(self):
        self.check_mode("loop", {"loop"})

    def test_bucket_that_follows_itself_is_explained(self):
        self.check_mode("self", {"loop"})

    def test_stack_of_2_to_the_62_is_explained(self):
        self.check_mode("deep", {"malformed", "rejected"})

    def test_millions_of_valid_buckets_are_bounded(self):
        self.check_mode("long", {"pool_full", "bucket_limit", "time_limit"})

    def test_wrong_hashes_are_rejected(self):
        self.check_mode("liar", {"rejected", "malformed"})

    def test_list_into_the_unmapped_is_explained(self):
        self.check_mode("unmapped", {"fault", "unreadable"})


class AnotherProgram(GoHeapTest):
    """One pid, two programs: what is known of the first is nothing of the second."""

    def kill_after_exec(self, delay, *argv):
        box = self.cgroup("becomes", self.LIMIT_MB)
        first = tools.go_program("1.19", "plain", "go-hostile")
        self.start([first, "exec", delay, *map(str, argv)], box).wait_killed()
        return box

    def test_exec_of_another_go_program_is_that_programs_heap(self):
        witness = self.daemon()
        program = tools.go_program("1.26", "pie-strip")
        box = self.kill_after_exec("500ms", program, "-listen", "", "-rate", 100, "-profile-rate", 65536)
        incident, capture = self.assert_complete(witness, box)
        profile = pprof.read(self.profile_of(incident, capture))
        self.assertEqual([f for f in profile.cumulative() if "BeforeExec" in f], [])

    def test_exec_of_a_c_program_has_no_heap_of_the_go_program(self):
        witness = self.daemon()
        self.assert_no_profile_at_kill(witness, self.kill_after_exec("500ms", tools.memhog(), "--rate-mb-s", 400))

    def test_kill_right_after_exec_is_never_the_first_programs_heap(self):
        """How often there is a profile is a benchmark's matter; that it is no other's is ours."""
        witness = self.daemon()
        argv = [tools.go_program("1.19", "strip"), "-listen", "", "-rate", 0, "-profile-rate", 65536]
        box = self.kill_after_exec("300ms", *argv)
        incident = self.wait_incidents(witness, 1, box)[0]
        for capture in [c for c in incident["captures"] if c["file"]]:
            names = pprof.read(self.profile_of(incident, capture)).cumulative()
            kept = [f for f in names if "BeforeExec" in f]
            self.assertTrue(not kept or capture["method"] != "at_kill", (capture, names))

    def assert_no_profile_at_kill(self, witness, box):
        incident = self.wait_incidents(witness, 1, box)[0]
        self.assertEqual([c for c in at_kill(incident) if c["result"] == "ok"], [])


class Files(GoHeapTest):
    def setUp(self):
        super().setUp()
        self.witness = self.daemon()
        self.program = os.path.join(self.scratch, "program")
        shutil.copy(tools.go_program("1.26", "pie-strip"), self.program)
        self.box = self.cgroup("file", self.LIMIT_MB)
        self.work = self.leaker(self.box, program=self.program, rate=40)
        self.work.wait_running()

    def finish(self):
        self.work.wait_killed()
        self.assert_complete(self.witness, self.box)

    def test_program_deleted_while_it_runs_is_complete_and_named(self):
        os.unlink(self.program)
        self.finish()

    def test_program_replaced_while_it_runs_keeps_its_own_names(self):
        shutil.copy(tools.go_program("1.19", "plain", "go-hostile"), self.program + ".new")
        os.rename(self.program + ".new", self.program)
        self.finish()


class PidReuse(GoHeapTest):
    """The next process with the pid of a known Go program is not taken for it."""

    TRIES = 200  # others on the machine take pids, too

    def setUp(self):
        super().setUp()
        self.witness = self.daemon()
        first = self.leaker(self.cgroup("first"), "-limit-mb", 16)
        first.wait_output("limit reached")  # 160 ms; it is known some 3 ms after its exec
        self.pid = first.pid
        first.close()

    def kill_with_same_pid(self, *argv):
        box = self.cgroup("second", self.LIMIT_MB)
        for _ in range(self.TRIES):
            fileio.write("/proc/sys/kernel/ns_last_pid", str(self.pid - 1))
            work = self.start(argv, box)
            if work.pid == self.pid:
                work.wait_killed()
                return box
            work.close()
        self.skipTest(f"pid {self.pid} was never the next one in {self.TRIES} tries")
        return None

    def test_go_program_with_the_pid_of_another_has_its_own_heap(self):
        program = tools.go_program("1.26", "pie-strip")
        box = self.kill_with_same_pid(program, "-listen", "", "-rate", "100", "-profile-rate", "65536")
        self.assert_complete(self.witness, box)

    def test_c_program_with_the_pid_of_a_go_program_has_no_heap(self):
        box = self.kill_with_same_pid(tools.memhog(), "--rate-mb-s", "100")
        self.assert_no_profile(self.witness, box)
        incident, = self.incidents_of(self.witness, box)
        self.assertEqual(at_kill(incident), [])


class Namespaces(GoHeapTest):
    USERNS = {"mapped": ("/usr/bin/unshare", "-U", "-r"), "unmapped": ("/usr/bin/unshare", "-U"),
              "other user": ("/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")}

    def test_pid_namespace_of_its_own_is_complete(self):
        witness = self.daemon()
        before = ("/usr/bin/unshare", "-p", "--fork", "--mount-proc")
        box = self.cgroup("pidns", self.LIMIT_MB)
        work = self.leaker(box, before=before)
        work.process.wait(60)  # unshare's own end is not the point
        incident, capture = self.assert_complete(witness, box)
        self.assertNotIn(capture["pid"], (1, work.pid))

    def test_user_namespace_of_its_own_is_complete_and_read_live_before(self):
        witness = self.daemon()
        for number, before in enumerate(self.USERNS.values()):
            incident, _ = self.assert_complete(witness, self.kill_leaker(f"userns{number}", before=before, rate=40))
            live = [c["result"] for c in incident["captures"] if c["method"] == "live"]
            self.assertIn("ok", live, incident["captures"])

    def test_user_namespace_of_its_own_is_read_on_request(self):
        for number, (name, before) in enumerate(self.USERNS.items()):
            with self.subTest(name):
                box = self.cgroup(f"request{number}", 256)
                work = self.leaker(box, "-limit-mb", 32, before=before)
                work.wait_output("limit reached")
                is_in_ours = os.readlink(f"/proc/{work.pid}/ns/user") == os.readlink("/proc/self/ns/user")
                self.assertEqual(is_in_ours, name == "other user")
                target = os.path.join(self.scratch, f"{number}.pb.gz")
                done = run_cli("capture", "--pid", work.pid, "-o", target, status=0)
                self.assertEqual(tools.pprof_top(target)[0][1], LEAK)


class Settings(GoHeapTest):
    """What an environment sets for Go's heap and its profile."""

    def kill_with(self, env, *flags, version="1.26"):
        box = self.cgroup("settings", self.LIMIT_MB)
        program = tools.go_program(version, "strip")
        self.start([program, "-listen", "", "-rate", "60", *flags], box, env=env).wait_killed()
        return box

    def test_sampling_set_by_godebug_is_the_profiles_period(self):
        witness = self.daemon()
        box = self.kill_with({"GODEBUG": "memprofilerate=16384"})
        incident, capture = self.assert_complete(witness, box)
        self.assertEqual(pprof.read(self.profile_of(incident, capture)).period, 16384)

    def test_profile_switched_off_by_godebug_is_named_live_and_at_the_kill(self):
        witness = self.daemon()
        box = self.kill_with({"GODEBUG": "memprofilerate=0"}, "-rate", "30")  # time to be read alive
        self.assert_failed(witness, box, "rate_zero")
        incident, = self.incidents_of(witness, box)
        live = {(c["result"], c["reason"]) for c in incident["captures"] if c["method"] == "live"}
        self.assertIn(("failed", "rate_zero"), live)
        self.assertEqual({c["result"] for c in incident["captures"] if c["method"] == "live"} & {"ok"}, set())

    def test_memory_limit_of_gos_own_below_the_containers_is_complete(self):
        """Beyond its limit Go collects without end: cycles change while the list is read."""
        witness = self.daemon()
        box = self.kill_with({"GOMEMLIMIT": "40MiB"}, "-profile-rate", "65536")
        incident, _ = self.assert_complete(witness, box)
        self.assertEqual(incident["victims"][0]["go"], {"memory_limit_bytes": 40 << 20})

    def test_collector_switched_off_is_complete(self):
        """Without a cycle ever nothing is active: all of the heap is in the cycles to come."""
        witness = self.daemon()
        box = self.kill_with({"GOGC": "off"}, "-profile-rate", "65536")
        incident, capture = self.assert_complete(witness, box)
        self.assertEqual(capture["live_bytes"], 0, capture)
        self.assertEqual(incident["victims"][0]["go"], {"gogc_percent": -1})
        also = {other["cause"]: other["why"] for other in incident["verdict"]["also"]}
        self.assertIn("GOGC=off", also["undersized"][0], incident["verdict"])  # it was a spike: two seconds


class Narrow(GoHeapTest):
    def test_32_bit_c_program_is_not_go(self):
        program, witness = tools.memhog32(), self.daemon()
        box = self.cgroup("narrow", self.LIMIT_MB)
        self.start([program], box).wait_killed()
        self.assert_no_profile(witness, box)
        incident, = self.incidents_of(witness, box)
        self.assertEqual(at_kill(incident), [])
        self.assertIn("not_go", {c["reason"] for c in incident["captures"]})

    def test_32_bit_go_program_is_named_and_never_read(self):
        program, witness = tools.go_program("1.19", "386-strip"), self.daemon()
        box = self.kill_leaker("narrowgo", program=program, rate=30)  # time to be read alive
        self.assert_failed(witness, box, "32_bit")
        self.assert_no_profile(witness, box)
        incident, = self.incidents_of(witness, box)
        self.assertIn(("live", "failed", "32_bit"),
                      {(c["method"], c["result"], c["reason"]) for c in incident["captures"]})

    def test_32_bit_go_program_is_refused_on_request(self):
        work = self.leaker(self.cgroup("asked", 256), "-limit-mb", 16, program=tools.go_program("1.26", "386-strip"))
        work.wait_output("limit reached")
        done = run_cli("capture", "--pid", work.pid, "-o", os.path.join(self.scratch, "none.pb.gz"), status=1)
        self.assertIn("32-bit Go program", done.stderr)
        self.assertFalse(os.path.exists(os.path.join(self.scratch, "none.pb.gz")))
