# SPDX-License-Identifier: Apache-2.0
"""The unit as shipped, under the systemd that it is written for."""
import os
import signal
import subprocess

from guest import (DATA, MEMHOG, UNIT, GuestTest, doctor, is_ready, journal, main_pid, read_config, run, scrape, show, systemctl,
                   unit_file, wait_ready, write_config)
from harness import fileio
from harness.wait import eventually, lost_if_it_fails

NUMBERS = {"DAC_READ_SEARCH": 2, "SYS_PTRACE": 19, "SYS_ADMIN": 21, "SYSLOG": 34}  # linux/capability.h


def status_of(pid):
    return dict(line.rstrip("\n").split(":\t", 1) for line in fileio.lines(f"/proc/{pid}/status"))


class Running(GuestTest):
    def test_it_has_what_the_unit_gives_it_and_no_more(self):
        pid = main_pid()
        status = status_of(pid)
        granted = sum(1 << NUMBERS[name] for name in unit_file.capabilities())
        self.assertEqual({status[name] for name in ("CapBnd", "CapEff", "CapPrm")}, {f"{granted:016x}"})
        self.assertEqual((status["CapAmb"], status["NoNewPrivs"], status["Seccomp"]), ("0" * 16, "1", "2"))
        self.assertEqual(fileio.read(f"/proc/{pid}/oom_score_adj").strip(), "-998")
        self.assertEqual(os.getpriority(os.PRIO_PROCESS, pid), -10)
        view = f"/proc/{pid}/root"
        self.assertEqual(os.listdir(f"{view}/home"), [])
        self.assertEqual(sorted(os.listdir(f"{view}{DATA}")), sorted(os.listdir(DATA)))

    def test_the_sandbox_costs_no_feature(self):
        """What it found it can do is what a shell of root's can do, and that is the best that this kernel has."""
        told = doctor()
        self.assertTrue(told["can_do_main_job"])
        self.assertEqual([c for c in told["checks"] if c["needed"] and not c["ok"]], [])
        rungs = {labels["feature"]: labels["rung"] for labels, value in scrape().values("oomwitness_feature_rung") if value}
        self.assertEqual(rungs, {f["feature"]: f["rung"] for f in told["features"]})
        self.assertEqual(rungs["oom_kill"], "fentry")
        run("oomwitness", "doctor")  # ends with 0

    def test_systemd_has_nothing_to_say_against_the_unit_as_installed(self):
        done = subprocess.run(["systemd-analyze", "verify", UNIT], capture_output=True, text=True)
        about_us = [line for line in (done.stdout + done.stderr).splitlines() if "oomwitness" in line]
        self.assertEqual((done.returncode, about_us), (0, []))
        for page in show(UNIT, "Documentation").split():
            self.assertTrue(os.path.exists(page.removeprefix("file:")), page)

    def test_a_reload_of_systemd_does_not_touch_it(self):
        pid = main_pid()
        systemctl("daemon-reload")
        self.assertEqual((main_pid(), is_ready()), (pid, True))

    def test_stopped_it_ends_well_and_started_it_still_knows_its_counts(self):
        self.run_unit("counted.service", [MEMHOG, "--rate-mb-s", "0"], properties=["MemoryMax=40M"])
        self.killed_unit("counted.service", "/system.slice/counted.service")
        counted = lambda: scrape().sum("oomwitness_oom_kills_total")
        before = counted()
        self.assertGreaterEqual(before, 1)
        systemctl("stop", UNIT)
        self.addCleanup(wait_ready)
        self.addCleanup(systemctl, "start", UNIT)
        self.assertEqual((show(UNIT, "Result"), show(UNIT, "ExecMainStatus"), is_ready()), ("success", "0", False))
        with self.subTest("a bad configuration is said once, as an error, and not tried again and again"):
            self.check_bad_configuration()
        systemctl("start", UNIT)
        wait_ready()
        with lost_if_it_fails():
            self.assertEqual(counted(), before)

    def check_bad_configuration(self):
        text = read_config()
        try:
            write_config(text + "\nlog_levle = 1\n")
            # systemd may see the end of the program before it has seen its start, which then failed.
            systemctl("start", UNIT, status=None)
            eventually(lambda: show(UNIT, "ActiveState") == "failed", lambda: systemctl("status", UNIT, status=None))
            self.assertEqual((show(UNIT, "ExecMainStatus"), show(UNIT, "NRestarts")), ("2", "0"))
            self.assertIn("log_levle", journal("-u", UNIT, "-p", "err"))
        finally:
            write_config(text)

    def test_killed_it_comes_back(self):
        before, pid = int(show(UNIT, "NRestarts")), main_pid()
        os.kill(pid, signal.SIGKILL)
        eventually(lambda: int(show(UNIT, "NRestarts")) == before + 1 and main_pid() not in (0, pid), "a new process")
        wait_ready()

    def test_what_matters_in_the_journal_is_told_from_what_does_not(self):
        self.run_unit("matters.service", [MEMHOG, "--rate-mb-s", "0"], properties=["MemoryMax=40M"])
        incident = self.killed_unit("matters.service", "/system.slice/matters.service")
        matters = journal("-u", UNIT, "-p", "warning")
        self.assertIn(incident["id"], matters)
        self.assertNotIn("WATERMARK", matters)
        self.assertIn("WATERMARK", journal("-u", UNIT))
