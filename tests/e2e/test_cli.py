# SPDX-License-Identifier: Apache-2.0
"""Commands, and their errors."""
import json
import os
import re
import shutil
import subprocess

from harness import fileio, tools
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

    def run_without(self, *prefix, command=None):
        # Readable by anyone, unlike the build directory of a root shell.
        copy = os.path.join(self.scratch, "oomwitness")
        shutil.copy(tools.BINARY, copy)
        os.chmod(self.scratch, 0o755)
        command = command or ("run", "--data-dir", self.data_dir(), "--metrics-listen", "127.0.0.1:0")
        return run_program(*prefix, "timeout", "20", copy, *command)

    def test_not_root_is_one_clear_line(self):
        done = self.run_without("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
        self.assert_one_line(done, 1, "root")

    def test_who_may_not_read_a_process_is_advised_to_be_root(self):
        for command in ("capture", "trend", "holders", "goroutines"):
            done = self.run_without("setpriv", "--reuid=65534", "--clear-groups", command=(command, "--pid", str(os.getpid())))
            self.assert_one_line(done, 1, "; run it as root (sudo)")

    def test_missing_capability_is_named(self):
        done = self.run_without("setpriv", "--bounding-set=-bpf,-sys_admin,-perfmon")
        self.assert_one_line(done, 1, "CAP_BPF")

    def test_missing_ptrace_capability_is_named(self):
        done = self.run_without("setpriv", "--bounding-set=-sys_ptrace")
        self.assert_one_line(done, 1, "CAP_SYS_PTRACE")

    def test_unknown_config_key_is_located(self):
        config = os.path.join(self.scratch, "bad.toml")
        fileio.write(config, '# first line\n[triggers]\n  budgett = 3\n')
        done = run_cli("run", "--config", config, "--data-dir", self.data_dir())
        self.assert_one_line(done, 2, f"{config}:3:3")
        self.assertIn("budgett", done.stderr)

    def test_config_value_out_of_range_is_located(self):
        config = os.path.join(self.scratch, "bad.toml")
        fileio.write(config, "[capture]\nworkers = 0\n")
        self.assert_one_line(run_cli("run", "--config", config, "--data-dir", self.data_dir()), 2, f"{config}:2:")

    def test_unknown_command_is_usage(self):
        self.assertEqual(run_cli("witness").returncode, 2)
        self.assertEqual(run_cli("run", "--no-such-flag").returncode, 2)

    def test_address_in_use_is_one_clear_line(self):
        witness = self.daemon()
        done = run_cli("run", "--data-dir", self.data_dir() + "2", "--metrics-listen", f"127.0.0.1:{witness.port}", status=1)
        self.assertIn(str(witness.port), done.stderr)

    def test_pages_beside_others_are_on_a_free_port_unless_their_address_was_chosen(self):
        box, site = self.cgroup("web", 256), [tools.BINARY, "web", "--data-dir", self.data_dir()]
        self.assert_one_line(run_program(*site), 1, f"no directory {self.data_dir()}")
        os.makedirs(self.data_dir())
        first = self.start(site, box)  # in a network of its own
        first.wait_output("http://localhost:9436/ until")
        there = ["nsenter", "-t", str(first.pid), "-n"]
        second = self.start([*there, *site], box, own_netns=False)
        second.wait_output(" until this is interrupted")
        self.assertRegex(second.text(), r"^127\.0\.0\.1:9436 is taken, .*\n.* http://localhost:(?!9436)\d+/ until")
        self.assertNotIn("taken", first.text())
        self.assert_one_line(run_program(*there, *site, "--listen", "127.0.0.1:9436"), 1, "for example --listen 127.0.0.1:0")

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
        top = run_cli("top", target, status=0)
        self.assertIn(tools.pprof_top(target)[0][1], top.stdout)

    def test_capture_of_a_process_without_a_heap_profile_is_of_what_fills_it_and_says_so(self):
        work = self.memhog(self.cgroup("mute", 64), "--hold-mb", "20")
        work.wait_output("ready")
        target = os.path.join(self.scratch, "contents.pb.gz")
        done = run_cli("capture", "--pid", work.pid, "-o", target, status=0)
        self.assertRegex(done.stdout, rf"^{target}: what fills pid {work.pid} \(native\), since it has no heap profile .*endpoint")
        self.assertRegex(run_cli("top", target).stdout, r"Type: contents\nShowing .* 2\d\.\d MiB total\n")
        for command in ("trend", "holders", "goroutines"):
            done = run_cli(command, "--pid", work.pid)
            self.assertEqual((done.returncode, len(done.stderr.splitlines())), (1, 1), done)
            self.assertRegex(done.stderr, rf"pid {work.pid}\b.* not a Go program")
        shown = on_terminal("capture", "--pid", work.pid, "-o", target)
        self.assertTrue(shown.startswith("\rreading the heap from outside, at most a few seconds ..."), shown)

    def without_heap_profile(self, hold):
        work = self.start([tools.go_program("1.19", "strip-nopprof", "go-holders")], self.cgroup(hold, 128), env={"HOLD": hold})
        work.wait_output("ready")
        return work

    def test_goroutines_of_a_program_with_cgo_are_counted(self):
        """From Go 1.26 on such a program has goroutines of another status."""
        work = self.start([tools.go_program("1.26", "ext", "go-holders")], self.cgroup("cgo", 128), env={"HOLD": "goroutines"})
        work.wait_output("ready")
        self.assertRegex(run_cli("goroutines", "--pid", work.pid, status=0).stdout, r"^\d{3,} goroutines\n(?s:.*)main\.")

    def test_a_go_program_without_a_heap_profile_is_shown_by_who_keeps_its_heap(self):
        work = self.without_heap_profile("map")
        done = run_cli("capture", "--pid", work.pid, status=0)
        self.assertRegex(done.stdout, r"(?m)^ *~2\d\.\d MiB +\d+\.\d %  kept by global used by main\.remember")
        self.assertIn(f"linked_out: runtime.MemProfile is not linked in", done.stdout)
        advice = re.search(r"oomwitness (holders --pid \d+)", done.stdout)[1]
        self.assertIn("main.remember", run_cli(*advice.split()).stdout)
        target = os.path.join(self.scratch, "held.pb.gz")
        done = run_cli("capture", "--pid", work.pid, "-o", target, status=0)
        self.assertIn(f"{target}: what keeps the heap of pid {work.pid} (go), since it has no heap profile", done.stdout)
        self.assertRegex(run_cli("top", target, status=0).stdout, r"\ABy who keeps it, from the root:\n.*global used by main\.remember")

    def test_the_trend_of_a_go_program_without_a_heap_profile_is_of_who_keeps_its_heap(self):
        """One that grows: what two readings of a heap at rest differ by is chance."""
        work = self.without_heap_profile("growing")
        done = run_cli("trend", "--pid", work.pid, "--count", "2", "--interval", "1", status=0)
        amounts = re.search(r"(?m)^ +(\d+\.\d) MiB -> +(\d+\.\d) MiB  global used by main\.remember", done.stdout)
        self.assertTrue(amounts and 20 < float(amounts[1]) < float(amounts[2]) < 60, done.stdout)
        self.assertNotIn("suspected", done.stdout)

    def test_a_trend_says_that_its_process_ended(self):
        work = self.without_heap_profile("growing")
        trend = subprocess.Popen([tools.BINARY, "trend", "--pid", str(work.pid), "--count", "3", "--interval", "2"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        head = [trend.stdout.readline() for _ in range(2)]
        work.close()
        output, errors = trend.communicate(timeout=60)
        self.assertEqual(trend.returncode, 0, (head, output, errors))
        self.assertRegex(errors, rf"\Ano further reading: pid {work.pid} could not be read: \S+: .+\n\Z")

    def test_a_container_is_found_by_what_lists_call_it(self):
        box = self.cgroup("named", 64)
        work = self.memhog(box, "--hold-mb", "20")
        eventually(lambda: box.usage() > 15 << 20, work.describe)
        name = os.path.basename(box.path)
        self.assertIn(f"pid {work.pid}", run_cli("capture", "--container", name, status=0).stdout)
        twin = self.raw_cgroup(name, 64, self.cgroup("parent"))
        self.memhog(twin, "--hold-mb", "20").wait_running()
        self.assertIn(f"pid {work.pid}", run_cli("capture", "--container", box.path, status=0).stdout)
        self.assertRegex(run_cli("capture", "--container", name, status=1).stderr, f"2 containers are called {name}; --pid or the id")

    def test_a_pid_that_no_process_has_is_one_clear_line(self):
        work = self.memhog(self.cgroup("dead", 64))
        work.close()
        for command in ("capture", "trend", "holders", "goroutines"):
            done = run_cli(command, "--pid", work.pid)
            self.assertEqual((done.returncode, done.stderr), (1, f"oomwitness: no process has pid {work.pid}\n"), command)


class Places(E2eTest):
    def test_what_is_printed_holds_in_any_directory_and_a_crash_loop_has_its_newest(self):
        witness = self.daemon()
        box = self.cgroup("looping", 64)
        for count in (1, 2):
            self.memhog(box, "--rate-mb-s", "100").wait_killed()
            self.wait_incidents(witness, count)
        self.assertRegex(witness.log(), rf"oomwitness show latest --config \S+ --data-dir {witness.data_dir}\)")
        here = dict(cwd=os.path.dirname(witness.data_dir), capture_output=True, text=True, timeout=60, check=False)
        shown = subprocess.run([tools.BINARY, "show", self.prefix + "looping", "--data-dir", "data"], **here)
        self.assertRegex(shown.stderr, r"2 incidents have .* in their names; this is the newest, the one before is ")
        again = re.search(r"All of it: oomwitness (.*)", shown.stdout)[1].split()
        self.assertEqual(again[-3:], ["--data-dir", witness.data_dir, "--full"])
        listed = lambda: [json.loads(line)["time"] for line in
                          run_cli("incidents", "--json", "--data-dir", witness.data_dir).stdout.splitlines()]
        shown = lambda *what: json.loads(run_cli("show", *what, "--json", "--data-dir", witness.data_dir).stdout)
        times = listed()
        self.assertEqual(times, sorted(times, reverse=True))
        newest = shown()["time"]  # tests beside this one kill, too
        self.assertTrue(times[0] <= newest <= listed()[0], (times[0], newest))
        self.assertIn(shown(self.prefix + "looping")["id"][-8:], again[1])


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
        done = run_cli("replay", recording, "--json", status=0)
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
