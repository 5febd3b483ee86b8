# SPDX-License-Identifier: Apache-2.0
"""The systemd unit: valid, hardened, explained, and no tighter than the daemon's work."""
import json
import os
import re
import shutil
import subprocess

import unit_file
from harness import fileio, tools
from harness.case import E2eTest

MAX_EXPOSURE = 40  # systemd-analyze security gives 3.8, nearly all of it the capabilities that are the job
# The unit's sandbox shows it everything read-only but its own directories, no homes.
VIEW = """set -e
mount --make-rprivate /
mkdir -p "$DATA"
mount --bind "$DATA" "$DATA"
mount --bind "$BINARY_DIR" "$BINARY_DIR"
mount --bind / /
mount -t tmpfs -o ro,mode=0755 none /home
mount -o remount,bind,ro /
mount -o remount,bind,ro /sys
mount --bind /proc/sys /proc/sys
mount -o remount,bind,ro /proc/sys
exec "$@"
"""


class Unit(E2eTest):
    def analyze(self, *args):
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze on this machine")
        return subprocess.run(["systemd-analyze", *args], capture_output=True, text=True)

    def test_verify_has_nothing_to_say(self):
        copy = os.path.join(self.scratch, "oomwitness.service")
        with open(copy, "w") as f:  # the binary is not installed here
            f.write(unit_file.text().replace("ExecStart=/usr/bin/oomwitness", "ExecStart=/bin/true"))
        done = self.analyze("verify", "--man=no", copy)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""))

    def test_exposure_does_not_grow(self):
        done = self.analyze("security", "--offline=yes", f"--threshold={MAX_EXPOSURE}", unit_file.PATH)
        self.assertEqual(done.returncode, 0, done.stdout[-200:])

    def test_every_protection_left_out_is_explained(self):
        done = self.analyze("security", "--offline=yes", "--json=short", unit_file.PATH)
        checks = json.loads(done.stdout)
        self.assertTrue(any(check["set"] for check in checks))
        missing = {re.split(r"[=~]", check["json_field"] if "=" not in check["name"] else check["name"])[0]
                   for check in checks if check["set"] is False}
        text = unit_file.text()
        unexplained = [name for name in sorted(missing) if not re.search(rf"(^|[ #]){name}=", text, re.M)]
        self.assertEqual(unexplained, [])

    def test_the_daemon_calls_nothing_that_the_filter_refuses(self):
        if not shutil.which("strace"):
            self.skipTest("no strace on this machine")
        if not shutil.which("systemd-analyze"):
            self.skipTest("no systemd-analyze to expand the filter with")
        trace = os.path.join(self.scratch, "trace")
        witness = self.daemon(prefix=["strace", "-f", "-qq", "-o", trace])
        box = self.cgroup("traced", 96)
        self.leaky_go(box, "-rate", "20").wait_killed()  # strace makes the daemon slow
        self.wait_incidents(witness, 1, box)
        # strace passes no signal on: its child is the daemon.
        self.end_child_of(witness.pid)
        witness.process.wait(60)  # an fsync on a busy disk takes seconds
        self.checked_kills = self.kernel_kills()
        self.check_trace(trace)

    @staticmethod
    def end_child_of(pid):
        for child in fileio.read(f"/proc/{pid}/task/{pid}/children").split():
            os.kill(int(child), 15)

    def check_trace(self, trace):
        lines = fileio.read(trace, errors="replace").splitlines()
        # The execve is the service manager's, made before the filter is in force for the daemon's own.
        calls = set(re.findall(r"^\d+ +(?:<\.\.\. )?(\w+)[ (]", "\n".join(lines), re.M)) - {"execve"}
        self.assertLessEqual({"bpf", "setns"}, calls, "kills and endpoints were at work")
        self.assertTrue(any(re.search(r' openat\(\d+, "mem", ', line) for line in lines), "memory was read")
        self.assertEqual(calls - unit_file.system_calls(), set())
        families = {m for line in lines for m in re.findall(r" socket\((\w+),", line)}
        self.assertTrue(families)
        self.assertLessEqual(families, set(unit_file.values("RestrictAddressFamilies")[0].split()) | {"AF_UNSPEC"})
        entered = {m for line in lines for m in re.findall(r" setns\(\d+, (\w+)", line)}
        self.assertEqual(entered, {"CLONE_NEWNET"})
        writable_code = [line for line in lines if re.search(r"(mmap|mprotect)\(.*PROT_WRITE\|PROT_EXEC", line)]
        self.assertEqual(writable_code, [])

    def test_a_kill_is_caught_in_the_sandbox_s_view_of_files(self):
        """No systemd runs here: its mounts are made by hand, its capabilities by setpriv."""
        data = self.data_dir()
        os.environ.update(DATA=data, BINARY_DIR=os.path.dirname(tools.BINARY))
        capabilities = unit_file.with_capabilities(unit_file.capabilities())
        witness = self.daemon(data_dir=data, prefix=["unshare", "-m", "sh", "-c", VIEW, "sh", *capabilities])
        box = self.cgroup("sandboxed", 96)
        self.leaky_go(box, "-rate", "30").wait_killed()
        incident = self.wait_incidents(witness, 1, box)[0]
        self.assertIn(("live", "ok"), {(c["method"], c["result"]) for c in incident["captures"]})
        self.assertEqual(witness.scrape().sum("oomwitness_data_dir_writable"), 1)
