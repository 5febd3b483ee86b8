# SPDX-License-Identifier: Apache-2.0
"""The unit's capability set: with it nothing is lost, and without each of them something is."""
import json
import os
import shutil

import unit_file
from harness import fileio, tools
from harness.case import E2eTest
from harness.daemon import run_program
from harness.wait import eventually

NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]


class Capabilities(E2eTest):
    def setUp(self):
        super().setUp()
        self.all = unit_file.capabilities()
        os.chmod(self.scratch, 0o755)  # for a program of another user
        self.missing_here = [c for c in sorted(self.all) if run_program(*unit_file.with_capabilities({c}), "true").returncode]
        if self.missing_here:
            self.skipTest(f"this machine's root has no {', '.join(self.missing_here)}")

    def doctor(self, capabilities):
        """Exit status, report. None = as root is here."""
        prefix = [] if capabilities is None else unit_file.with_capabilities(capabilities)
        done = run_program(*prefix, tools.BINARY, "doctor", "--json", "--data-dir", self.data_dir())
        return done.returncode, json.loads(done.stdout)

    def start_daemon(self, capabilities, config=""):
        return self.daemon(config, prefix=unit_file.with_capabilities(capabilities))

    def private_program(self):
        """Of another user, and only that user may read it."""
        path = os.path.join(self.scratch, "private-go")
        shutil.copy(tools.leaky_go(), path)
        os.chown(path, 65534, 65534)
        os.chmod(path, 0o500)
        return path

    def captures_of_a_kill(self, witness, name="box"):
        """{(method, result, reason)} of a killed program that is another user's, in its own network namespace."""
        box = self.cgroup(name, 96)
        self.start([*NOBODY, self.private_program(), "-rate", "30"], box).wait_killed()

        def amended():
            found = self.incidents_of(witness, box)
            captures = {(c["method"], c["result"], c["reason"]) for i in found for c in i["captures"]}
            return captures if len({method for method, _, _ in captures}) == 3 else None

        return eventually(amended, lambda: f"three methods tried: {self.incidents_of(witness, box)}")

    def test_the_set_gives_the_rungs_and_checks_that_full_root_has(self):
        status, report = self.doctor(self.all)
        _, full = self.doctor(None)
        self.assertEqual(status, 0)
        rungs = [{f["feature"]: f["rung"] for f in r["features"]} for r in (report, full)]
        checks = [{c["name"]: c["ok"] for c in r["checks"]} for r in (report, full)]
        self.assertEqual((rungs[0], checks[0]), (rungs[1], checks[1]))

    def test_the_set_catches_a_kill_with_every_method(self):
        witness = self.start_daemon(self.all)
        captures = self.captures_of_a_kill(witness)
        for method in ("live", "http"):
            self.assertIn((method, "ok", ""), captures)
        if "heap_at_kill" in self.features_with_programs():
            self.assertIn(("at_kill", "ok", ""), captures)

    def features_with_programs(self):
        return {f["feature"] for f in self.doctor(self.all)[1]["features"] if f["rung"] not in ("files", "none")}

    def test_no_bpf_and_no_perfmon_is_needed_beside_sys_admin(self):
        _, with_them = self.doctor(self.all | {"BPF", "PERFMON"})
        _, without = self.doctor(self.all)
        self.assertEqual(with_them["features"], without["features"])

    def test_without_sys_admin_or_sys_ptrace_it_refuses_and_names_it(self):
        for capability in ("SYS_ADMIN", "SYS_PTRACE"):
            rest = unit_file.with_capabilities(self.all - {capability})
            done = run_program(*rest, tools.BINARY, "run", "--data-dir", self.data_dir(), "--metrics-listen", "127.0.0.1:0", status=1)
            self.assertIn("CAP_" + capability, done.stderr)

    def test_without_dac_read_search_private_programs_have_no_heap(self):
        witness = self.start_daemon(self.all - {"DAC_READ_SEARCH"})
        box = self.cgroup("unread", 96)
        self.start([*NOBODY, self.private_program(), "-rate", "30"], box).wait_killed()
        incident = self.wait_incidents(witness, 1, box)[0]
        reasons = {c["method"]: c["reason"] for c in incident["captures"] if c["result"] != "ok"}
        self.assertEqual(reasons.get("live"), "permission")
        self.assertEqual([c for c in incident["captures"] if c["result"] == "ok"], [])

    def test_without_syslog_the_files_rung_hears_of_no_kill(self):
        def kernel_log(capabilities):
            report = self.doctor(capabilities)[1]
            return next(c["ok"] for c in report["checks"] if c["name"] == "kernel_log")

        if fileio.read("/proc/sys/kernel/dmesg_restrict").strip() != "1":
            self.skipTest("kernel.dmesg_restrict is 0: everybody may read the kernel log")
        self.assertEqual((kernel_log(self.all), kernel_log(self.all - {"SYSLOG"})), (True, False))

    def test_this_is_the_whole_set(self):
        self.assertEqual(self.all, {"SYS_ADMIN", "SYS_PTRACE", "DAC_READ_SEARCH", "SYSLOG"})
