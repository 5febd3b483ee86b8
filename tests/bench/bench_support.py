# SPDX-License-Identifier: Apache-2.0
"""What the benchmarks share: conditions, tables, percentiles, and the bars."""
import argparse
import contextlib
import os
import platform
import shutil
import signal
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))

from harness import cgroup, fileio, tools  # noqa: E402
from harness.cgroup import MemoryCgroup  # noqa: E402
from harness.daemon import Daemon  # noqa: E402
from harness.workload import Workload  # noqa: E402

MIB = 1 << 20
# An incident is written again while evidence comes in; it is whole when nothing came for so long.
QUIET_S = 4.0


def arguments(description, flags=(), **numbers):
    """--binary, --check (exit 1 when a bar is missed), the given flags, and numbers with their defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--binary")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    for name in flags:
        parser.add_argument("--" + name, action="store_true")
    for name, default in numbers.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    return parsed(parser)


def runs_parser(description, jobs, keep="where to put the incidents"):
    """For a bench of many runs side by side: --binary, -k, --jobs, --keep and --check."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary")
    parser.add_argument("-k", action="append", default=[], help="only runs whose name holds this")
    parser.add_argument("--jobs", type=int, default=jobs, help="runs side by side")
    parser.add_argument("--keep", help=keep)
    parser.add_argument("--check", action="store_true", help="exit 1 when a bar is missed")
    return parser


def parsed(parser):
    """The options, once --binary is in force and SIGTERM ends this process in order."""
    options = parser.parse_args()
    if options.binary:
        tools.BINARY = os.path.abspath(options.binary)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended, too
    return options


def print_conditions():
    model = next((l.split(":")[1].strip() for l in fileio.lines("/proc/cpuinfo") if l.startswith("model name")), "unknown CPU")
    print(f"Conditions: Linux {platform.release()}, {os.cpu_count()} x {model}, cgroup v{cgroup.VERSION}, "
          f"load {os.getloadavg()[0]:.1f} at the start.\n")


def first_incident(witness, paths):
    """The first of those cgroups: what is killed after it belongs to it, or is the same again."""
    found = [i for i in witness.incidents() if i["container"]["cgroup_path"] in paths]
    return min(found, key=lambda incident: incident["time"], default=None)


def settled_incident(witness, paths):
    """The same, once no file in its directory changed for QUIET_S."""
    incident = first_incident(witness, paths)
    if incident is None:
        return None
    try:
        changed = max(entry.stat().st_mtime for entry in os.scandir(incident["_dir"]))
    except FileNotFoundError:  # a file got its name just now
        return None
    return incident if time.time() - changed > QUIET_S else None


def percentile(values, percent):
    """Nearest rank; None of nothing."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-len(ordered) * percent // 100) - 1))] if ordered else None


def table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(str(c) for c in row) + " |")
    print(flush=True)


class Bars:
    """Collects what was missed; finish() is the exit status."""

    def __init__(self):
        self.missed = []

    def require(self, what, is_met):
        print(f"{'met   ' if is_met else 'MISSED'}  {what}", flush=True)
        if not is_met:
            self.missed.append(what)

    def finish(self, options):
        return 1 if options.check and self.missed else 0


class Site(contextlib.ExitStack):
    """A scratch directory and everything started in it, ended in reverse order."""

    def __init__(self):
        super().__init__()
        self.scratch = tempfile.mkdtemp(prefix="oomw-bench-")
        self.callback(shutil.rmtree, self.scratch, ignore_errors=True)
        self.prefix = f"bench{os.getpid()}-"

    def daemon(self, config=""):
        return self.enter_context(Daemon(os.path.join(self.scratch, "data"), config))

    def cgroup(self, name, limit_mib=None):
        return self.enter_context(MemoryCgroup(self.prefix + name, limit_mib and limit_mib * MIB))

    def start(self, argv, box):
        return self.enter_context(Workload(argv, box))
