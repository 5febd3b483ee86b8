# SPDX-License-Identifier: Apache-2.0
"""The real binary, run as a user runs it."""
import atexit
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from . import Closeable, fileio, tools
from .metrics import Scrape, get
from .wait import TIME_FACTOR, Crashed, NotInTime, eventually

# A configuration with one attempt at a capture, at 80 % of the limit, whatever the growth.
CAPTURE_AT_80 = "[kernel]\ntime_to_limit_seconds = 0\n[triggers]\ncapture_percents = [80]\n"


def free_port():
    """Below the ports that the kernel gives to outgoing connections: any test's may take one of those between this
    check and the bind of the program that is given it. Above 30000 are Kubernetes' node ports."""
    for _ in range(100):
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", random.randrange(20000, 30000)))
                return s.getsockname()[1]
            except OSError:
                continue  # taken
    raise AssertionError("no free port in 100 tries")


def with_patience(config, patience):
    """`patience` times as long before the daemon gives up what it reads, and by OOMW_TIME_FACTOR more; a walk at the kill by the latter."""
    longer = min(100, int(patience * TIME_FACTOR))
    if longer > 1:
        config += f"\n[testing]\npatience = {longer}\n"
    if TIME_FACTOR > 1 and "at_kill" not in config:
        config += f"\n[capture.at_kill]\nmax_seconds = {min(10, 0.1 * TIME_FACTOR)}\n"
    return config


def assert_status(done, status):
    if status is not None and done.returncode != status:
        raise AssertionError(f"not {status}: {done}")


def run_program(*argv, timeout_s=60, status=None):
    """Finished: returncode, which must be `status` where that is given, stdout and stderr as text."""
    done = subprocess.run(argv, capture_output=True, text=True, errors="surrogateescape",
                          timeout=timeout_s * TIME_FACTOR, stdin=subprocess.DEVNULL)
    assert_status(done, status)
    return done


# What ends a program by its own fault; tests send others.
FAULTS = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGSYS, signal.SIGTRAP}


def assert_no_fault(returncode, text):
    if returncode is not None and -returncode in FAULTS:
        raise Crashed(f"oomwitness ended by {signal.Signals(-returncode).name}: {text}")


def run_cli(*args, timeout_s=60, status=None):
    """`oomwitness ARGS`."""
    done = run_program(tools.BINARY, *map(str, args), timeout_s=timeout_s)
    assert_no_fault(done.returncode, f"{' '.join(map(str, args))}: {done.stderr[-2000:]}")
    assert_status(done, status)
    return done


def capture_with(pid, wanted):
    """What `oomwitness capture` prints of a process, once that matches."""
    def captured():
        text = run_cli("capture", "--pid", pid).stdout
        return text if re.search(wanted, text) else None

    return eventually(captured, lambda: f"/{wanted}/ in {run_cli('capture', '--pid', pid)}")


class Daemon(Closeable):
    """`oomwitness run` on a data directory and a free loopback port, ready when constructed."""

    def __init__(self, data_dir, config="", args=(), prefix=(), wait_ready=True, patience=1):
        self.data_dir = data_dir
        self.port = free_port()
        self.log_file = tempfile.NamedTemporaryFile(prefix="oomw-e2e-log-")
        self._config = tempfile.NamedTemporaryFile("w", prefix="oomw-e2e-", suffix=".toml")
        self._config.write(with_patience(config, patience))
        self._config.flush()
        command = [*prefix, tools.BINARY, "run", "--config", self._config.name, "--data-dir", data_dir,
                   "--metrics-listen", f"127.0.0.1:{self.port}", *args]
        if "--web-listen" not in args:
            command += ["--web-listen", "off"]  # daemons of other tests would want the same port
        self._events, self._events_end = [], 0
        self.started_at = time.monotonic()
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log_file,
                                        stderr=subprocess.STDOUT)
        if wait_ready:
            try:
                eventually(self.is_ready, lambda: f"readyz; log: {self.log()}", 30, 0.005)
            except BaseException:
                self.stop(signal.SIGKILL)
                raise
            self.ready_after_s = time.monotonic() - self.started_at

    @property
    def pid(self):
        return self.process.pid

    def url(self, path):
        return f"http://127.0.0.1:{self.port}{path}"

    def is_ready(self):
        if self.process.poll() is not None:
            self.assert_not_crashed()
            raise AssertionError(f"oomwitness run ended with {self.process.returncode}: {self.log()}")
        try:
            return get(self.url("/readyz"))[0] == 200
        except OSError:
            return False

    def assert_not_crashed(self):
        """Whether it runs or was ended by the test."""
        if self.process.poll() is not None and not self.log_file.closed:
            assert_no_fault(self.process.returncode, self.log()[-2000:])

    def log(self):
        return fileio.read(self.log_file.name, errors="replace")

    def events(self, kind):
        """Events of one type printed so far; needs args=["--json"]. Each line is read once, however often this is asked."""
        with open(self.log_file.name, "rb") as f:
            f.seek(self._events_end)
            lines = f.read().rpartition(b"\n")[0]
        self._events_end += len(lines) + bool(lines)
        self._events += [json.loads(line) for line in lines.split(b"\n") if line.startswith(b"{") and line.endswith(b"}")]
        return [event for event in self._events if event.get("type") == kind]

    def scrape(self):
        status, body = get(self.url("/metrics"))
        if status != 200:
            raise AssertionError(f"/metrics answered {status}")
        return Scrape(body)

    def rung_of(self, feature):
        """The one in force, as /metrics has it."""
        rungs = self.scrape().values("oomwitness_feature_rung", feature=feature)
        return next(labels["rung"] for labels, value in rungs if value)

    def incidents(self):
        return read_incidents(self.data_dir)

    def stop(self, signum=signal.SIGTERM, deadline_s=60):
        """Ends it; returns its exit status. Incidents under way are still written: an fsync on a busy disk takes seconds."""
        if self.process.poll() is None:
            self.process.send_signal(signum)
            try:
                self.process.wait(deadline_s * TIME_FACTOR)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise NotInTime(f"did not stop within {deadline_s} s; log: {self.log()}") from None
        self.assert_not_crashed()
        return self.process.returncode

    def close(self):
        try:
            self.stop()
        finally:
            self._config.close()
            self.log_file.close()


class _Running:
    """The daemon that the last test left running, and what it was started with."""

    config = daemon = folder = None

    def get(self, config):
        if self.daemon is None or self.config != config or self.daemon.process.poll() is not None:
            self.close()
            self.folder = tempfile.mkdtemp(prefix="oomw-e2e-")
            self.config = config
            self.daemon = Daemon(os.path.join(self.folder, "data"), config, ["--json"])
        return self.daemon

    def close(self):
        daemon, self.daemon = self.daemon, None
        try:
            if daemon is not None:
                daemon.close()
        finally:
            if self.folder is not None:
                shutil.rmtree(self.folder, ignore_errors=True)
                self.folder = None


_running = _Running()
atexit.register(_running.close)


def running_daemon(config=""):
    """One with --json and that config, shared by tests that check their own cgroups only and leave it running; a new
    one where another config is wanted, or a test has cost the last one its life."""
    return _running.get(config)


def read_incidents(data_dir):
    """Every whole incident on disk, oldest first, as dicts with "_dir"."""
    root = os.path.join(data_dir, "incidents")
    found = []
    for name in sorted(os.listdir(root) if os.path.isdir(root) else []):
        if name.startswith("."):
            continue
        try:
            found.append(_read_incident(os.path.join(root, name)))
        except FileNotFoundError:
            if os.path.exists(os.path.join(root, name)):
                raise  # half an incident
            continue  # retention took it since we listed: others' kills count, too
    return found


def evidence_files(directory):
    """What an incident has as evidence, {name: bytes}: notes of its node begin with a dot."""
    found = {}
    for name in os.listdir(directory):
        if not name.startswith("."):
            found[name] = fileio.read_bytes(os.path.join(directory, name))
    return found


_incidents = {}  # folder: (the mark of one writing, the content)


def _read_incident(folder):
    """As written last. It is replaced, never changed: a file seen before is not parsed again."""
    with open(os.path.join(folder, "incident.json"), encoding="utf-8") as f:
        info = os.fstat(f.fileno())
        written = (info.st_ino, info.st_mtime_ns, info.st_size)
        if _incidents.get(folder, (None,))[0] != written:
            _incidents[folder] = (written, dict(json.load(f), _dir=folder))
    return dict(_incidents[folder][1])
