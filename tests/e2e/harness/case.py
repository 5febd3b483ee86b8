# SPDX-License-Identifier: Apache-2.0
"""The base of every end-to-end test."""
import contextlib
import functools
import itertools
import os
import shutil
import sys
import tempfile
import time
import unittest

from . import cgroup as cgroups
from . import fileio, kept, tools
from .daemon import Daemon
from .wait import LostKill, eventually, lost_if_it_fails
from .workload import Workload

MIB = 1 << 20
_numbers = itertools.count(1)


def judged(test):
    """Of a test that judges chance (a detector, a share, a latency): one miss is not a failure yet (outcomes.py)."""
    test.judged = True
    return test


def _with_invariant(test):
    @functools.wraps(test)
    def wrapped(self):
        try:
            test(self)
            with lost_if_it_fails():
                self.assert_every_kill_seen()
        except unittest.SkipTest:
            raise
        except BaseException as e:
            self.print_workloads()
            self.print_logs()
            if isinstance(e, Exception):
                self.explain(e)
            raise
        finally:
            for daemon in self.daemons:
                if isinstance(daemon, Daemon):  # a pod's end is its runtime's to know
                    daemon.assert_not_crashed()

    return wrapped


class E2eTest(unittest.TestCase):
    """Makes cgroups, workloads and daemons that end with the test, also with a failed one.

    Whatever a test claims, it also ends with the invariant: the victims the daemon counted in
    this test's cgroups, and those in its incidents, are the kernel's own count.
    """

    loses_incidents = False  # a test whose disk is gone on purpose
    alone = False  # nothing may run beside its class: run.py
    long = False  # its class takes half a minute or more: begun first
    patience = 5  # of the daemon (with_patience); 1 where the test is about what it gives up

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        for name, member in list(vars(cls).items()):
            if name.startswith("test_"):
                setattr(cls, name, _with_invariant(member))

    @staticmethod
    def checked(test):
        """For tests that are added to a class after it was made."""
        return _with_invariant(test)

    def setUp(self):
        if os.geteuid() != 0:
            self.skipTest("needs root: makes cgroups and loads BPF programs")
        if not os.access(tools.BINARY, os.X_OK):
            self.fail(f"no oomwitness binary at {tools.BINARY} (set OOMWITNESS)")
        self._stack = contextlib.ExitStack()
        self.addCleanup(self._stack.close)
        self.prefix = f"e2e{os.getpid()}n{next(_numbers)}-"
        self.scratch = tempfile.mkdtemp(prefix="oomw-e2e-")
        self._stack.callback(shutil.rmtree, self.scratch, ignore_errors=True)
        self.cgroups = []
        self.daemons = []
        self.recordings = []
        if kept.DIRECTORY:
            self._stack.callback(kept.keep, self)  # after the daemons' end, before the scratch directory's
        self.workloads = []
        self.checked_kills = 0
        self.kills_before = 0

    def closing(self, made):
        """Closed when the test ends."""
        self._stack.callback(made.close)
        return made

    def cgroup(self, name, limit_mb=None, parent=None):
        return self.raw_cgroup(self.prefix + name, limit_mb, parent)

    def raw_cgroup(self, name, limit_mb, parent):
        """Without this test's prefix: its name is the point. The outermost of its parents has it."""
        made = self.closing(cgroups.MemoryCgroup(name, limit_mb and int(limit_mb * MIB), parent))
        self.cgroups.append(made)
        return made

    def start(self, argv, cgroup, **kwargs):
        made = self._stack.enter_context(Workload(argv, cgroup, **kwargs))
        self.workloads.append(made)
        return made

    def leaky_go(self, cgroup, *flags, **kwargs):
        return self.start([tools.leaky_go(), *flags], cgroup, **kwargs)

    def memhog(self, cgroup, *flags, **kwargs):
        return self.start([tools.memhog(), *flags], cgroup, **kwargs)

    def daemon(self, config="", data_dir=None, args=(), prefix=()):
        if kept.DIRECTORY and "--record" not in args:
            args = [*args, "--record", os.path.join(self.scratch, f"kept-{len(self.recordings)}.jsonl")]
        if "--record" in args:
            self.recordings.append(args[args.index("--record") + 1])
        made = self.closing(Daemon(data_dir or self.data_dir(), config, args, prefix, patience=self.patience))
        self.daemons.append(made)
        return made

    def data_dir(self):
        return os.path.join(self.scratch, "data")

    # --- from the daemon, of this test's cgroups

    def own(self, incidents):
        return [i for i in incidents if (i["container"]["cgroup_path"] or "").startswith("/" + self.prefix)]

    def incidents_of(self, daemon, cgroup=None):
        path = cgroup.path if cgroup else "/" + self.prefix
        return [i for i in self.own(daemon.incidents())
                if i["container"]["cgroup_path"] == path or not cgroup]

    def wait_incidents(self, daemon, count, cgroup=None):
        def enough():
            found = self.incidents_of(daemon, cgroup)
            return found if len(found) >= count else None

        found = eventually(enough, lambda: f"{count} incidents; have {os.listdir(daemon.data_dir)}")
        brief = [(i["id"], [v["pid"] for v in i["victims"]], i["victim_count"], i["scope"]) for i in found]
        self.assertEqual(len(found), count, (brief, [i["notes"] for i in found]))
        return found

    def filled_incident(self, daemon, cgroup):
        """The one with what filled it; if there is none, what is there in its place and what became of the readings."""
        def state():
            brief = [(i["id"], i.get("verdict"), i["notes"]) for i in self.incidents_of(daemon, cgroup)]
            scrape = daemon.scrape()
            counts = [(*labels.values(), int(value)) for name in ("events_lost_total", "reader_jobs_total")
                      for labels, value in scrape.values("oomwitness_" + name) if value]
            return f"an incident of {cgroup.path} with what filled it; has {brief}, counters {counts}"

        return eventually(lambda: next((i for i in self.incidents_of(daemon, cgroup) if i.get("composition")), None),
                          state, 30)

    def counted(self, daemon):
        return int(daemon.scrape().kills(self.prefix))

    def wait_counted(self, daemon, count):
        with lost_if_it_fails():
            eventually(lambda: self.counted(daemon) >= count, lambda: f"counter {count}, is {self.counted(daemon)}")
            self.assertEqual(self.counted(daemon), count)

    def assert_stays_counted(self, daemon, count, seconds=2.0):
        """Nothing is counted twice while cgroups are read again; the grace for late events is 0.5 s."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.assertEqual(self.counted(daemon), count)
            time.sleep(0.1)

    def kernel_kills(self):
        """While the test ran: not what a test killed before the first daemon started."""
        return sum(c.kernel_kills() for c in self.cgroups) - self.kills_before

    def assert_every_kill_seen(self):
        kernel = self.kernel_kills()
        running = [d for d in self.daemons if d.process.poll() is None]
        if not running:
            self.assertEqual(kernel, self.checked_kills, "kills happened and no daemon runs to be asked")
            return
        daemon = running[-1]
        eventually(lambda: self.counted(daemon) >= kernel,
                   lambda: f"kernel counts {kernel}, oom_kills_total {self.counted(daemon)}")
        self.assertEqual(self.counted(daemon), kernel, "oom_kills_total against the kernel's own count")
        self.checked_kills = kernel
        if self.loses_incidents:
            return
        victims = lambda: sum(len(i["victims"]) for i in self.own(daemon.incidents()))
        # A kill is counted at once; its incident is there after an fsync, which takes seconds on a busy disk.
        eventually(lambda: victims() >= kernel, lambda: f"kernel counts {kernel}, victims in incidents {victims()}")
        self.assertEqual(victims(), kernel, "victims in incidents against the kernel's own count")

    def explain(self, failure):
        """A failed test may have failed since a kill is missing: that is what is reported then."""
        if isinstance(failure, LostKill) or not any(d.process.poll() is None for d in self.daemons):
            return
        with contextlib.suppress(OSError), lost_if_it_fails():
            self.assert_every_kill_seen()

    def wait_outlived(self, trigger, total_mb):
        """Until it has all its memory, somebody else having been killed for it. While a victim still gives its own back
        the kernel may choose again, and has on an emulated CPU: two decisions, both of which must have been seen."""
        def holds():
            return int(fileio.read(f"/proc/{trigger.pid}/statm").split()[1]) * 4096 >= total_mb * MIB

        eventually(lambda: not trigger.is_alive() or holds(), lambda: f"{total_mb} MB: {trigger.describe()}")
        if not trigger.is_alive():
            self.assert_every_kill_seen()
            self.skipTest("the kernel decided a second time, before the first victim's memory was free")

    def print_workloads(self):
        """Those still running: what the test waited for may be theirs to do."""
        for work in self.workloads:
            if work.is_alive():
                sys.stderr.write(f"--- {work.argv}\n  {work.describe()}\n")

    def print_logs(self):
        for daemon in self.daemons:
            try:
                sys.stderr.write(f"--- log of oomwitness {daemon.pid}\n{daemon.log()[-6000:]}\n---\n")
            except ValueError:  # closed
                pass
