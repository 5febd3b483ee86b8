# SPDX-License-Identifier: Apache-2.0
"""Attack: an incident directory or a profile from somewhere else, in the hands of whoever reads it with the CLI.

Seen: `show --json` passed terminal escapes (C1, and what follows a NUL); a link to /dev/zero in an incident directory
took 539 MB; `diff` of a profile of 6.5 MB took 2.5 GB.
Must hold: no control character reaches a terminal; every command ends with 96 MiB at most, whether it has an answer or
a reason.
"""
import contextlib
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

import profiles
from harness import fileio, tools
from harness.terminal import controls_in, on_terminal
from hostile_case import HERE, MIB, READER_BAR

FIXTURE = os.path.join(os.path.dirname(HERE), "fixtures/incidents/leak_with_endpoint.json")
ESCAPES = "a\x1b[31mb\x9b32mc\x00\x1b]0;owned\x07d\x85e\x7ff\u202eg"
LIMIT_S = 60


# A process begins with the peak of the one that forked it: a small one in between, whose own is below any bar.
MEASURE = """
import os, resource, sys
pid = os.fork()
if pid == 0:
    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
    os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print("\\nmeasured", os.waitstatus_to_exitcode(status), usage.ru_maxrss)
"""


def run_measured(*args):
    """(status, end of the output, peak resident bytes). Ended after LIMIT_S."""
    process = subprocess.Popen(["/usr/bin/python3", "-S", "-c", MEASURE, tools.BINARY, *args], stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    output, end = b"", time.monotonic() + LIMIT_S
    with process.stdout:
        while select.select([process.stdout], [], [], max(0, end - time.monotonic()))[0]:
            piece = os.read(process.stdout.fileno(), 65536)
            if not piece:
                break
            output = (output + piece)[-MIB:]
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    text, _, figures = output.decode(errors="replace").rpartition("\nmeasured ")
    if not figures:
        raise AssertionError(f"{args}: not over after {LIMIT_S} s: {output[-300:]}")
    status, peak = map(int, figures.split())
    return status, text, peak << 10


class ForeignIncident(unittest.TestCase):
    def setUp(self):
        if not os.access(tools.BINARY, os.X_OK):
            self.fail(f"no oomwitness binary at {tools.BINARY} (set OOMWITNESS)")
        self.data = self.enterContext(tempfile.TemporaryDirectory(prefix="oomw-hostile-"))

    def incident(self, change=lambda content: None):
        """The directory of a real one, changed by the attacker."""
        content = fileio.read_json(FIXTURE)
        change(content)
        self.incident_id = content["id"]
        folder = os.path.join(self.data, "incidents", self.incident_id)
        os.makedirs(folder)
        fileio.write_json(os.path.join(folder, "incident.json"), content, ensure_ascii=False)
        fileio.write(os.path.join(folder, "report.md"), f"# {ESCAPES}\n")
        return folder

    def command(self, name, *arguments):
        return [name, *arguments, "--data-dir", self.data]

    def assert_small(self, args):
        """Its output; it ends by itself, within the bar."""
        status, output, peak = run_measured(*args)
        print(f"      {args[0]}: exit {status}, {peak / MIB:.0f} MiB", flush=True)
        self.assertGreaterEqual(status, 0, f"{args}: ended by a signal; {output[-300:]}")
        self.assertLessEqual(peak, READER_BAR, args)
        return status, output

    def test_no_escape_reaches_a_terminal(self):
        def change(content):
            content["victims"][0].update(comm=ESCAPES, cmdline=ESCAPES, exe=ESCAPES)
            content["container"].update(name=ESCAPES, image=ESCAPES)
            content["notes"] = [ESCAPES]
            content["verdict"] = {"cause": ESCAPES, "confidence": 0.5, "why": [ESCAPES]}
            content["answer"] = {"sentence": ESCAPES, "cause": ESCAPES, "confidence": 0.5, "action": ESCAPES, "culprit": {
                "claim": ESCAPES, "code": ESCAPES, "path": [ESCAPES, ESCAPES], "operation_kind": ESCAPES,
                "operation": ESCAPES}}

        self.incident(change)
        self.assertIn("\nCode: ", on_terminal(*self.command("show", self.incident_id)), "the answer is shown")
        for args in (("show", self.incident_id), ("show", self.incident_id, "--full"), ("show", self.incident_id, "--json"),
                     ("incidents",), ("incidents", "-o", "wide"), ("incidents", "--json"),
                     ("incidents", "--cause", "none")):
            with self.subTest(args=args):
                output = on_terminal(*self.command(*args))
                self.assertIn("a", output)
                self.assertEqual(controls_in(output), [])
        refusal = on_terminal(*self.command("show", ESCAPES.replace("\0", "")), status=1)
        self.assertRegex(refusal, "no incident .* in ")
        self.assertEqual(controls_in(refusal), [])

    def test_a_link_to_dev_zero_is_refused(self):
        for name in ("incident.json", "report.md", "trend.json"):
            folder = self.incident()
            path = os.path.join(folder, name)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            os.symlink("/dev/zero", path)
            for args in (("incidents",), ("show", self.incident_id), ("show", self.incident_id, "--json")):
                with self.subTest(file=name, args=args):
                    self.assert_small(self.command(*args))
            shutil.rmtree(folder)

    def test_a_profile_that_is_a_device_is_refused(self):
        folder = self.incident()
        for name, make in (("link", lambda p: os.symlink("/dev/zero", p)), ("pipe", os.mkfifo)):
            path = os.path.join(folder, name + ".pb.gz")
            make(path)
            for args in (("top", path), ("diff", path, path), ("render", path, "-o", os.path.join(self.data, "out.svg"))):
                with self.subTest(kind=name, command=args[0]):
                    status, _ = self.assert_small(args)
                    self.assertNotEqual(status, 0)

    def test_large_profiles_are_shown_in_bounds_or_refused(self):
        bodies = {"samples": profiles.with_samples(3_900_000), "labels": profiles.with_samples(1000, labels=5_000_000),
                  "text": profiles.with_samples(10, size=250 * MIB), "plain": profiles.with_samples(500_000)}
        for shape, body in bodies.items():
            path = os.path.join(self.data, shape + ".pb.gz")
            fileio.write(path, profiles.gzipped(body))
            for args in (("top", path), ("diff", path, path), ("render", path, "-o", os.path.join(self.data, "out.svg"))):
                with self.subTest(shape=shape, command=args[0]):
                    self.assert_small(args)
