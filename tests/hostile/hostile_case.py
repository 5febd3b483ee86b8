# SPDX-License-Identifier: Apache-2.0
"""The base of the attacks: the real daemon in the DaemonSet's 256 MiB, and a neighbour whose evidence must stay whole.

Every attack is made by ordinary containers: a cgroup and a network namespace of their own, an unprivileged user, no
capabilities. Every test ends with assert_unhurt(): the daemon lives within its memory, /healthz has answered all the
time, and the neighbour's kill is counted and its incident complete.

The bars are 1 s. They are checked at MARGIN_S, by the times that the daemon itself wrote: a busy machine must not fail
a test, and the stalls that these tests are about lasted 9 to 33 s. What was measured is printed.
"""
import contextlib
import os
import shutil
import tempfile
import threading
import time

from harness import fileio, tools
from harness.cgroup import MemoryCgroup
from harness.case import MIB
from harness.go_heap import GoHeapTest, at_kill
from harness.metrics import get
from harness.process_state import children, status_bytes
from harness.text_time import unix
from harness.wait import TIME_FACTOR, eventually

HERE = os.path.dirname(os.path.abspath(__file__))
DAEMON_LIMIT = 256 * MIB  # of the DaemonSet
DAEMON_BAR, READER_BAR = 80 * MIB, 96 * MIB
MARGIN_S = 5.0
# What Kubernetes calls restricted: nothing here needs more.
ORDINARY = ("/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all",
            "--bounding-set=-all", "--no-new-privs")
_ENTER = 'echo $$ > "$0" || exit 98; exec "$@"'


def _kib(pid, key):
    """0 for a process that is gone."""
    try:
        return status_bytes(pid, key)
    except (OSError, StopIteration):
        return 0


def cpu_seconds(pid):
    """0 for a process that is gone."""
    try:
        words = fileio.read_bytes(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return 0.0


class DaemonWatch(threading.Thread):
    """Peaks of the daemon and of its children, and how long /healthz took, until stop()."""

    EACH_S = 0.2

    def __init__(self, daemon):
        super().__init__(daemon=True)
        self.daemon_ = daemon
        self.peak = self.child_peak = self.asked = 0
        self.worst_s, self.bad = 0.0, []
        self.ended = threading.Event()
        self.start()

    def run(self):
        while not self.ended.is_set():
            try:
                self.measure()
            except OSError:
                pass  # the daemon has ended; the test says so
            self.ask()
            self.ended.wait(self.EACH_S)

    def measure(self):
        pid = self.daemon_.pid
        self.peak = max(self.peak, _kib(pid, "VmHWM"))
        self.child_peak = max([self.child_peak, *(_kib(child, "VmHWM") for child in children(pid))])

    def ask(self):
        begin = time.monotonic()
        try:
            status, body = get(self.daemon_.url("/healthz"), MARGIN_S)
            if status != 200:
                self.bad.append(f"{status} {body[:200]}")
        except OSError as e:
            self.bad.append(str(e))
        self.worst_s = max(self.worst_s, time.monotonic() - begin)
        self.asked += 1

    def stop(self):
        self.ended.set()
        self.join()
        with contextlib.suppress(OSError):  # it has ended
            self.measure()


class HostileTest(GoHeapTest):
    patience = 1
    NEIGHBOUR_MB = 64
    # The neighbour's own way to its limit takes a second.
    NEIGHBOUR_RATE = 100
    counts_by_name = True  # no: a test whose attack leaves no room for the neighbour's own series

    def setUp(self):
        super().setUp()
        # For users without rights: the scratch directory and the cache are root's alone.
        self.public = tempfile.mkdtemp(prefix="oomw-hostile-")
        self._stack.callback(shutil.rmtree, self.public, ignore_errors=True)
        os.chmod(self.public, 0o755)
        self.watch = None
        self.late_s = []

    # --- the daemon

    def fortress(self, config="", args=("--json",), **kwargs):
        """The daemon within its limit. The cgroup is not the test's: a kill in it is a failure of its own."""
        self.daemon_box = self.closing(MemoryCgroup(f"oomw-hostile-{self.prefix}{len(self.daemons)}", DAEMON_LIMIT))
        prefix = ["sh", "-c", _ENTER, self.daemon_box.procs_file(), *kwargs.pop("prefix", ())]
        self.witness = self.daemon(config, args=args, prefix=prefix, **kwargs)
        self.watch = DaemonWatch(self.witness)
        self._stack.callback(self.watch.stop)
        return self.witness

    # --- attackers

    def program(self, name, *flags):
        """The C program of this folder, where everyone may run it."""
        source = os.path.join(HERE, "programs", name + ".c")
        target = os.path.join(tools.CACHE, "workloads/hostile", name)
        tools._build(target, [source], ["gcc", "-O1", "-static", "-o", target, source])
        return self.published(target)

    def published(self, path, name=None):
        target = os.path.join(self.public, name or os.path.basename(path))
        if not os.path.exists(target):
            shutil.copy(path, target)
            os.chmod(target, 0o755)
        return target

    def write_public(self, name, data, mode=0o644):
        target = os.path.join(self.public, name)
        fileio.write(target, data)
        os.chmod(target, mode)
        return target

    def script(self, name):
        return self.published(os.path.join(HERE, "programs", name))

    def attack(self, box, argv, **kwargs):
        """An ordinary container."""
        return self.start([*ORDINARY, *map(str, argv)], box, **kwargs)

    # --- the neighbour

    def kill_neighbour(self, name="neighbour"):
        """Killed and checked: its incident is complete, and was so within the margin, as the daemon's own file says."""
        box = self.kill_leaker(name, limit_mb=self.NEIGHBOUR_MB, rate=self.NEIGHBOUR_RATE)
        ended = time.time()
        incident, capture = self.at_kill_of(self.witness, box)
        # Of the revision that is complete: later ones add what is slower than its evidence.
        written = os.stat(os.path.join(incident["_dir"], "incident.json")).st_mtime
        self.assertEqual((capture["result"], capture["complete"]), ("ok", True), capture)
        self.assertGreater(capture["inuse_bytes"], 0.5 * self.NEIGHBOUR_MB * MIB, capture)
        self.assertTrue(capture["file"], capture)
        self.assertTrue(incident["victims"][0]["comm"], incident["victims"])
        self.late_s.append(written - unix(incident["time"]))
        self.assertLess(self.late_s[-1], MARGIN_S * TIME_FACTOR,
                        f"{box.name}: complete so long after its kill; its process ended {ended - written:.3f} s after that")
        if self.counts_by_name:
            eventually(lambda: self.witness.scrape().kills(box.name) == 1, f"the kill of {box.name} is counted", 30)
        return box

    def assert_unhurt(self):
        """The bars that every attack has; a test that has killed no neighbour yet does so now."""
        if not self.late_s:
            self.kill_neighbour()
        self.watch.stop()
        print(f"      daemon {self.watch.peak / MIB:.0f} MiB and {cpu_seconds(self.witness.pid):.1f} s of CPU time, its children {self.watch.child_peak / MIB:.0f} MiB, /healthz "
              f"at most {self.watch.worst_s * 1e3:.0f} ms of {self.watch.asked}, neighbour complete after "
              f"{', '.join(f'{s * 1e3:.0f} ms' for s in self.late_s)}", flush=True)
        self.assertIsNone(self.witness.process.poll(), "the daemon has ended")
        self.assertEqual(self.daemon_box.kernel_kills(), 0, "the daemon's container was out of memory")
        self.assertEqual(self.watch.bad, [], "/healthz")
        self.assertGreater(self.watch.asked, 0)
        self.assertLess(self.watch.worst_s, MARGIN_S * TIME_FACTOR, "/healthz")
        self.assertLessEqual(self.watch.peak, DAEMON_BAR, "the daemon's resident memory")
        self.assertLessEqual(self.watch.child_peak, READER_BAR, "resident memory of the daemon's child")

    def captures(self, box, method="http"):
        """[(result, reason)] of the captures so far in this cgroup, as printed."""
        return [(e["result"], e["reason"]) for e in self.witness.events("capture")
                if e["cgroup"] == box.inode and e["method"] == method]


__all__ = ["HostileTest", "MARGIN_S", "MIB", "at_kill", "children", "eventually"]
