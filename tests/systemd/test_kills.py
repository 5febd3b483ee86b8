# SPDX-License-Identifier: Apache-2.0
"""Kills in units of a real systemd: which unit, whose limit, and what to do about it."""
import os
import time
import unittest

from guest import (LEAKY_GO, MEMHOG, UNIT, GuestTest, commands_of, install, install_programs, is_here, read_config, run, show,
                   systemctl, wait_ready, write_config)
from harness.kernel_log import KernelLog
from harness.wait import eventually

HOG = [MEMHOG, "--rate-mb-s", "0"]
MANAGER = "user@1000.service"
APPS = f"/user.slice/user-1000.slice/{MANAGER}/app.slice"
GO_ON = "/run/go-on"  # what the programs in WholeLimitInUse wait for
STEADY = [MEMHOG, "--hold-mb", "37", "--rate-mb-s", "0", "--wait-file", GO_ON]
STEADY_SECONDS = 12  # of which the daemon sees the same reading again and again
started_at = None


def as_alice(*command):
    return run("runuser", "-u", "alice", "--", "env", "XDG_RUNTIME_DIR=/run/user/1000", *command)


def setUpModule():
    """What WholeLimitInUse kills fills its limit while the others run."""
    global started_at
    if not is_here():
        return
    install_programs()
    install()
    give_time_to_captures()
    run("loginctl", "enable-linger", "alice")
    eventually(lambda: show(MANAGER, "ActiveState") == "active", lambda: systemctl("status", MANAGER, status=None))
    with open("/run/systemd/system/steady@.service", "w") as f:
        f.write(f"[Service]\nExecStart={' '.join(STEADY)}\nMemoryMax=40M\n")
    systemctl("daemon-reload")
    systemctl("start", WholeLimitInUse.TEMPLATED)
    as_alice("systemd-run", "--user", "--quiet", f"--unit={WholeLimitInUse.USERS}", "-p", "MemoryMax=40M", *STEADY)
    started_at = time.monotonic()


def give_time_to_captures():
    """A heap is read within a second, of a CPU that is not emulated and has no rivals."""
    shipped = read_config()
    mine = shipped.replace("[capture.live]\n", "[capture.live]\ntimeout_seconds = 60\n")
    assert mine != shipped, shipped
    configure(mine)
    unittest.addModuleCleanup(configure, shipped)


def configure(text):
    write_config(text)
    systemctl("restart", UNIT)
    wait_ready()


class Units(GuestTest):
    def test_a_service_killed_at_its_own_limit(self):
        self.run_unit("own.service", HOG, properties=["MemoryMax=40M"])
        incident = self.killed_unit("own.service", "/system.slice/own.service", limit_mb=40)
        self.assertEqual(show("own.service", "Result"), "oom-kill")
        self.assert_journal_names("own.service", incident)

    def test_a_transient_scope(self):
        self.run_unit("own.scope", HOG, "--scope", properties=["MemoryMax=40M"])
        self.assert_journal_names("own.scope", self.killed_unit("own.scope", "/system.slice/own.scope", limit_mb=40))

    def test_instances_of_a_template_with_escaped_names(self):
        name = run("systemd-escape", "--template=leaky@.service", "a/b-c d").strip()
        self.assertEqual(name, r"leaky@a-b\x2dc\x20d.service")
        self.write_unit("leaky@.service", f"[Service]\nExecStart={' '.join(HOG)}\nMemoryMax=40M\n")
        systemctl("daemon-reload")
        self.stop_after(name)
        systemctl("start", name)
        self.assert_journal_names(name, self.killed_unit(name, f"/system.slice/system-leaky.slice/{name}", limit_mb=40))

    def test_a_service_in_a_slice_whose_limit_is_used_up(self):
        self.stop_after("tight.slice")
        self.write_unit("tight.slice", "[Slice]\nMemoryMax=40M\n")
        systemctl("daemon-reload")
        self.run_unit("inside.service", HOG, "--slice=tight.slice")
        incident = self.killed_unit("inside.service", "/tight.slice/inside.service", owner="/tight.slice", limit_mb=40)
        self.assert_journal_names("inside.service", incident)

    def test_a_go_service_that_is_shut_off_from_the_machine(self):
        """Another user, a home that the daemon may not see, a network of its own: the heap is read all the same."""
        program = "/home/alice/leaky-go"
        run("install", "-o", "alice", "-m", "700", LEAKY_GO, program)
        self.addCleanup(os.remove, program)
        self.run_unit("shut.service", [program, "-rate", "5"], properties=[
            "MemoryMax=64M", "User=alice", "PrivateNetwork=yes", "PrivateTmp=yes", "ProtectSystem=strict",
            "NoNewPrivileges=yes"])
        self.killed_unit("shut.service", "/system.slice/shut.service", limit_mb=64)

        def captures():  # the heap at the kill may be added to the incident later
            return [(c["method"], c["result"], c.get("reason")) for c in self.wait_incident("/system.slice/shut.service")["captures"]]

        eventually(lambda: {("live", "ok", ""), ("at_kill", "ok", "")} <= set(captures()), lambda: str(captures()))


class UserUnits(GuestTest):
    """Of a user's own service manager, which runs without a login (lingering)."""

    def test_a_user_s_service_at_its_own_limit(self):
        as_alice("systemd-run", "--user", "--quiet", "--unit=mine.service", "-p", "MemoryMax=40M", *HOG)
        self.assert_journal_names("mine.service", self.killed_unit("mine.service", APPS + "/mine.service", limit_mb=40))

    def test_a_user_s_service_at_the_limit_of_all_the_user_has(self):
        systemctl("set-property", "--runtime", "user-1000.slice", "MemoryMax=150M")
        self.addCleanup(systemctl, "set-property", "--runtime", "user-1000.slice", "MemoryMax=infinity")
        as_alice("systemd-run", "--user", "--quiet", "--unit=many.service", *HOG)
        self.killed_unit("many.service", APPS + "/many.service", owner="/user.slice/user-1000.slice", limit_mb=150)


class WholeLimitInUse(GuestTest):
    """Programs that fit into their limits for a while, and then need a little more: the advice is a command that works."""

    TEMPLATED, USERS = r"steady@a-b\x2dc\x20d.service", "steady.service"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        time.sleep(max(0, started_at + STEADY_SECONDS - time.monotonic()))
        cls.both = KernelLog()
        cls.addClassCleanup(cls.both.close)
        open(GO_ON, "w").close()

    def setUp(self):
        self.kernel_log = self.both

    def advice(self, unit, path):
        incident = self.killed_unit(unit, path, limit_mb=40)
        self.assertEqual(incident["verdict"]["cause"], "undersized", incident["verdict"])
        return commands_of(self.report(incident), "systemctl")[0]

    def test_the_limit_of_a_unit_with_an_escaped_name_is_raised_as_advised(self):
        self.stop_after(self.TEMPLATED)
        run("sh", "-c", self.advice(self.TEMPLATED, f"/system.slice/system-steady.slice/{self.TEMPLATED}"))
        self.assertGreater(int(show(self.TEMPLATED, "MemoryMax")), 40 << 20)

    def test_the_limit_of_a_user_s_unit_is_raised_where_that_is_known(self):
        run("sh", "-c", self.advice(self.USERS, f"{APPS}/{self.USERS}"))
        limit = as_alice("systemctl", "--user", "show", "--value", "--property=MemoryMax", self.USERS)
        self.assertGreater(int(limit), 40 << 20)


class ContainerScopes(GuestTest):
    """As container managers make them through systemd, with the systemd cgroup driver."""

    ID = "0123456789abcdef" * 4

    def test_a_docker_container(self):
        unit = f"docker-{self.ID}.scope"
        self.run_unit(unit, HOG, "--scope", properties=["MemoryMax=40M", "Delegate=yes"])
        incident = self.killed(f"/system.slice/{unit}", limit_mb=40)
        self.assertEqual((incident["container"]["runtime"], incident["container"]["id"]), ("docker", self.ID))
        self.assert_journal_names(self.ID[:12], incident)

    def test_a_podman_container_below_the_machine_slice(self):
        unit = f"libpod-{self.ID}.scope"
        self.run_unit(unit, HOG, "--scope", "--slice=machine.slice", properties=["MemoryMax=40M", "Delegate=yes"])
        incident = self.killed(f"/machine.slice/{unit}", limit_mb=40)
        self.assertEqual((incident["container"]["runtime"], incident["container"]["id"]), ("podman", self.ID))

    def test_kubelet_s_systemd_driver(self):
        uid = "01234567-89ab-cdef-0123-456789abcdef"
        pod = f"kubepods-burstable-pod{uid.replace('-', '_')}.slice"
        unit = f"cri-containerd-{self.ID}.scope"
        self.run_unit(unit, HOG, "--scope", f"--slice={pod}", properties=["MemoryMax=40M", "Delegate=yes"])
        path = f"/kubepods.slice/kubepods-burstable.slice/{pod}/{unit}"
        incident = self.killed(path, limit_mb=40)
        self.assertEqual((incident["container"]["runtime"], incident["container"]["id"]), ("containerd", self.ID))
        self.assertEqual(incident["pod"]["uid"], uid)
        self.assert_journal_names(uid, incident)
