# SPDX-License-Identifier: Apache-2.0
"""The real binary, run as a user runs it."""
import json
import os
import signal
import socket
import subprocess
import tempfile
import time

from . import tools
from .metrics import Scrape, get
from .wait import TIME_FACTOR, eventually


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def with_patience(config):
    """A walk at the kill may take as much longer as everything else does where OOMW_TIME_FACTOR says so."""
    if TIME_FACTOR == 1 or "at_kill" in config:
        return config
    return f"{config}\n[capture.at_kill]\nmax_seconds = {min(10, 0.1 * TIME_FACTOR)}\n"


def run_program(*argv, timeout_s=60):
    """Finished: returncode, stdout and stderr as text."""
    return subprocess.run(argv, capture_output=True, text=True, errors="surrogateescape",
                          timeout=timeout_s * TIME_FACTOR, stdin=subprocess.DEVNULL)


def run_cli(*args, timeout_s=60):
    """`oomwitness ARGS`."""
    return run_program(tools.BINARY, *map(str, args), timeout_s=timeout_s)


class Daemon:
    """`oomwitness run` on a data directory and a free loopback port, ready when constructed."""

    def __init__(self, data_dir, config="", args=(), prefix=(), wait_ready=True):
        self.data_dir = data_dir
        self.port = free_port()
        self.log_file = tempfile.NamedTemporaryFile(prefix="oomw-e2e-log-")
        self._config = tempfile.NamedTemporaryFile("w", prefix="oomw-e2e-", suffix=".toml")
        self._config.write(with_patience(config))
        self._config.flush()
        command = [*prefix, tools.BINARY, "run", "--config", self._config.name, "--data-dir", data_dir,
                   "--metrics-listen", f"127.0.0.1:{self.port}", *args]
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
            raise AssertionError(f"oomwitness run ended with {self.process.returncode}: {self.log()}")
        try:
            return get(self.url("/readyz"))[0] == 200
        except OSError:
            return False

    def log(self):
        with open(self.log_file.name, errors="replace") as f:
            return f.read()

    def events(self, kind):
        """Events of one type printed so far; needs args=["--json"]."""
        lines = [line for line in self.log().splitlines() if line.startswith("{") and line.endswith("}")]
        return [event for event in map(json.loads, lines) if event.get("type") == kind]

    def scrape(self):
        status, body = get(self.url("/metrics"))
        if status != 200:
            raise AssertionError(f"/metrics answered {status}")
        return Scrape(body)

    def incidents(self):
        return read_incidents(self.data_dir)

    def stop(self, signum=signal.SIGTERM, deadline_s=20):
        """Ends it; returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signum)
            try:
                self.process.wait(deadline_s * TIME_FACTOR)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError(f"did not stop within {deadline_s} s; log: {self.log()}") from None
        return self.process.returncode

    def close(self):
        try:
            self.stop()
        finally:
            self._config.close()
            self.log_file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def read_incidents(data_dir):
    """Every whole incident on disk, oldest first, as dicts with "_dir"."""
    root = os.path.join(data_dir, "incidents")
    found = []
    for name in sorted(os.listdir(root) if os.path.isdir(root) else []):
        if name.startswith("."):
            continue
        try:
            with open(os.path.join(root, name, "incident.json"), encoding="utf-8") as f:
                incident = json.load(f)
        except FileNotFoundError:
            if os.path.exists(os.path.join(root, name)):
                raise  # half an incident
            continue  # retention took it since we listed: others' kills count, too
        incident["_dir"] = os.path.join(root, name)
        found.append(incident)
    return found
