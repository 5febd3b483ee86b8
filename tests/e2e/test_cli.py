# SPDX-License-Identifier: Apache-2.0
"""Commands, and their errors."""
import json
import os
import shutil

from harness import tools
from harness.case import E2eTest
from harness.daemon import run_cli, run_program
from harness.terminal import on_terminal
from harness.text_time import is_time, unix
from harness.wait import eventually


class BadUse(E2eTest):
    def assert_one_line(self, done, status, *words):
        self.assertEqual(done.returncode, status, done)
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        self.assertEqual(len(lines), 1, done.stderr)
        self.assertTrue(any(word in lines[0] for word in words), lines[0])

    def run_without(self, *prefix):
        # Readable by anyone, unlike the build directory of a root shell.
        copy = os.path.join(self.scratch, "oomwitness")
        shutil.copy(tools.BINARY, copy)
        os.chmod(self.scratch, 0o755)
        return run_program(*prefix, "timeout", "20", copy, "run", "--data-dir", self.data_dir(),
                           "--metrics-listen", "127.0.0.1:0")

    def test_not_root_is_one_clear_line(self):
        done = self.run_without("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        self.assert_one_line(done, 1, "root")

    def test_missing_capability_is_named(self):
        done = self.run_without("setpriv", "--bounding-set=-bpf,-sys_admin,-perfmon")
        self.assert_one_line(done, 1, "CAP_BPF")

    def test_missing_ptrace_capability_is_named(self):
        done = self.run_without("setpriv", "--bounding-set=-sys_ptrace")
        self.assert_one_line(done, 1, "CAP_SYS_PTRACE")

    def test_unknown_config_key_is_located(self):
        config = os.path.join(self.scratch, "bad.toml")
        with open(config, "w") as f:
            f.write('# first line\n[triggers]\n  budgett = 3\n')
        done = run_cli("run", "--config", config, "--data-dir", self.data_dir())
        self.assert_one_line(done, 2, f"{config}:3:3")
        self.assertIn("budgett", done.stderr)

    def test_config_value_out_of_range_is_located(self):
        config = os.path.join(self.scratch, "bad.toml")
        with open(config, "w") as f:
            f.write("[capture]\nworkers = 0\n")
        self.assert_one_line(run_cli("run", "--config", config, "--data-dir", self.data_dir()), 2, f"{config}:2:")

    def test_unknown_command_is_usage(self):
        self.assertEqual(run_cli("witness").returncode, 2)
        self.assertEqual(run_cli("run", "--no-such-flag").returncode, 2)

    def test_address_in_use_is_one_clear_line(self):
        witness = self.daemon()
        done = run_cli("run", "--data-dir", self.data_dir() + "2", "--metrics-listen", f"127.0.0.1:{witness.port}")
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(str(witness.port), done.stderr)

    def test_show_of_unknown_incident_fails(self):
        os.makedirs(self.data_dir())
        self.assert_one_line(run_cli("show", "nope", "--data-dir", self.data_dir()), 1, "nope")


class Capture(E2eTest):
    def test_capture_by_pid_needs_no_daemon(self):
        box = self.cgroup("calm", 128)
        work = self.leaky_go(box, "-rate", "100", "-limit-mb", "40")
        work.wait_running()
        eventually(lambda: box.usage() > 40 << 20, "40 MB are leaked")
        target = os.path.join(self.scratch, "heap.pb.gz")

        def taken():
            done = run_cli("capture", "--pid", work.pid, "-o", target)
            return done if done.returncode == 0 else None

        done = eventually(taken, "a capture by pid", 20)
        self.assertRegex(done.stdout, rf"^{target}: \w+ heap profile of pid {work.pid}, [\d.]+ MiB in use, \d+ samples\n"
                                      rf".+\ngo tool pprof -top {target}\n$")
        self.assertIn("leak", tools.pprof_top(target)[0][1].lower())
        top = run_cli("top", target)
        self.assertEqual(top.returncode, 0, top)
        self.assertIn(tools.pprof_top(target)[0][1], top.stdout)

    def test_capture_of_a_process_without_a_heap_profile_is_of_what_fills_it_and_says_so(self):
        work = self.memhog(self.cgroup("mute", 64), "--hold-mb", "20")
        work.wait_output("ready")
        target = os.path.join(self.scratch, "contents.pb.gz")
        done = run_cli("capture", "--pid", work.pid, "-o", target)
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stdout, rf"^{target}: what fills pid {work.pid} \(native\), since it has no heap profile .*endpoint")
        self.assertRegex(run_cli("top", target).stdout, r"Type: contents\nShowing .* 2\d\.\d\dMB total\n")
        for command in ("trend", "holders", "goroutines"):
            done = run_cli(command, "--pid", work.pid)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done)
            self.assertRegex(done.stderr, rf"pid {work.pid}\b.* not a Go program")
        shown = on_terminal("capture", "--pid", work.pid, "-o", target)
        self.assertTrue(shown.startswith("\rreading the heap from outside, at most a few seconds ..."), shown)

    def test_a_pid_that_no_process_has_is_one_clear_line(self):
        work = self.memhog(self.cgroup("dead", 64))
        work.close()
        for command in ("capture", "trend", "holders", "goroutines"):
            done = run_cli(command, "--pid", work.pid)
            self.assertEqual((done.returncode, done.stderr), (1, f"oomwitness: no process has pid {work.pid}\n"), command)


class Replay(E2eTest):
    # Same facts, whatever was sampled or stored around them.
    SAME = ("id", "time", "scope", "container", "victims", "trigger", "limit", "usage_bytes", "series", "pressure")

    def test_replay_of_a_recording_gives_the_same_incident(self):
        recording = os.path.join(self.scratch, "events.jsonl")
        witness = self.daemon(args=["--record", recording])
        self.leaky_go(self.cgroup("recorded", 128), "-rate", "50").wait_killed()
        live = self.wait_incidents(witness, 1)[0]
        self.assert_every_kill_seen()
        witness.stop()
        live = self.incidents_of(witness)[0]  # as amended last
        done = run_cli("replay", recording, "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        again = self.own([json.loads(line) for line in done.stdout.splitlines()])
        self.assertEqual(len(again), 1)
        for key in self.SAME:
            self.assert_same(again[0][key], live[key], key)
        outcomes = lambda i: [(c["method"], c["result"], c["reason"], c["inuse_bytes"]) for c in i["captures"]]
        self.assertEqual(outcomes(again[0]), outcomes(live))

    def assert_same(self, left, right, where):
        """Equal, but for the wall clock: a live daemon reads it anew, a recording has it once."""
        if isinstance(left, dict):
            self.assertEqual(left.keys(), right.keys(), where)
            for key in left:
                self.assert_same(left[key], right[key], f"{where}.{key}")
        elif isinstance(left, list):
            self.assertEqual(len(left), len(right), where)
            for number, (l, r) in enumerate(zip(left, right)):
                self.assert_same(l, r, f"{where}[{number}]")
        elif isinstance(left, str) and is_time(left):
            self.assertAlmostEqual(unix(left), unix(right), delta=0.001, msg=where)
        else:
            self.assertEqual(left, right, where)

    def test_replay_of_a_cut_recording_ends_well(self):
        recording = os.path.join(self.scratch, "events.jsonl")
        witness = self.daemon(args=["--record", recording])
        self.memhog(self.cgroup("cut", 32), "--rate-mb-s", "100").wait_killed()
        self.wait_incidents(witness, 1)
        self.assert_every_kill_seen()
        witness.stop()
        os.truncate(recording, os.path.getsize(recording) - 7)
        self.assertEqual(run_cli("replay", recording).returncode, 0)
