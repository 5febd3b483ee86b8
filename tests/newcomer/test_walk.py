# SPDX-License-Identifier: Apache-2.0
"""A newcomer's walk from a kill to its code, with a program of each language: list, show, what show advises, the pages, and
capture and trend of one that still runs. What a person would stumble over is asserted, not how the answer is worded."""
import os
import re
import shlex
import shutil
import subprocess
import sys

from harness import tools
from harness.case import E2eTest
from harness.daemon import free_port, run_cli
from harness.terminal import on_terminal
from harness.wait import eventually

sys.path.insert(0, os.path.join(tools.TREE, "tests/web"))

from browser_case import BrowserCase  # noqa: E402

NODE = shutil.which("node") or shutil.which("nodejs")
PYTHON = "/usr/bin/python3"
SESSIONS = """
import time
sessions = {}
def remember(user):
    sessions[user] = {"user": user, "items": ["item %d" % i for i in range(20)]}
user = 0
while True:
    for user in range(user, user + 400):
        remember("user %d" % user)
    time.sleep(0.05)
"""
DRAWN = "document.querySelector('canvas').dataset.drawn > 0"
SCREEN = 25  # lines


class Walk(BrowserCase, E2eTest):
    def advised(self, text, pid):
        """The commands for this machine in it, with a living process for PID."""
        for line in text.splitlines():
            command = line.removeprefix("All of it: ").strip()
            if command.startswith("oomwitness ") and line.startswith(("    ", "All of it: ")):
                yield [tools.BINARY, *shlex.split(command.replace(" PID", f" {pid}"))[1:]]

    def check_show(self, incident, data, pid):
        piped = run_cli("show", *data)
        self.assertEqual((piped.returncode, piped.stderr), (0, ""))
        for columns, shown in ((60, on_terminal("show", *data, columns=60)), (80, on_terminal("show", *data, columns=80)), (None, piped.stdout)):
            lines = shown.splitlines()
            self.assertLessEqual(len(lines), SCREEN, shown)
            self.assertTrue(lines[0].startswith("OOM kill in "), shown)
            self.assertIn("What to do: ", shown)
            self.assertNotRegex(shown, r"\\[_*`|]|\x1b", "marks of Markdown, or of a terminal")
            running = shown.split("\n\n")[0]
            self.assertEqual(running.count("`") % 2, 0, f"a name is cut: {running}")
            self.assertEqual(running.count("("), running.count(")"), f"a name is cut: {running}")
            if columns:
                # A command, and a word that is wider than the screen (a file's path), stay whole.
                wide = [line for line in lines if len(line) > columns and len(line.split()) > 1
                        and not line.startswith(("    ", "All of it: ", "Files: "))]
                self.assertEqual(wide, [])
        commands = [list(self.advised(on_terminal("show", *data, columns=columns), pid)) for columns in (60, 80)]
        all_of_it = list(self.advised(piped.stdout, pid))
        for fewer in commands:
            self.assertEqual(fewer[:-1], all_of_it[:len(fewer) - 1], "a narrow terminal has the first of them, and no others")
        for command in all_of_it:
            done = subprocess.run(command, cwd=incident["_dir"], capture_output=True, text=True, timeout=120, check=False)
            if "--png" not in command or shutil.which("rsvg-convert"):
                self.assertEqual(done.returncode, 0, (command, done.stderr))

    def check_list(self, incident, data):
        for columns in (60, 80):
            listed = on_terminal("incidents", *data, columns=columns)
            row = next(line for line in listed.splitlines() if line.startswith(incident["id"][-8:]))
            self.assertLessEqual(len(row), columns, listed)
        self.assertIn(incident["id"], run_cli("incidents", *data).stdout)

    def check_pages(self, origin, incident):
        path = f"{origin}/i/{incident['id']}"
        self.load(path, origin + "/")
        self.assert_readable("incident")
        text = self.text()
        self.assertIn(incident["answer"]["action"].replace("`", ""), text)
        pictures = {"Flame graph": ("/flame", "No flame graph: "), "What grew": ("/flame?mode=growth", "No graph of what grew: ")}
        buttons = self.browser.run("[...document.querySelectorAll('a.button')].map((a) => [a.textContent, a.getAttribute('href')])")
        offered = dict(buttons)
        for button, (_, why_not) in pictures.items():
            if button not in offered:
                self.assertIn(why_not, text)
                continue
            self.load(origin + offered[button], origin + "/", then=DRAWN)
        self.assertIn("Flame graph", offered, text)

    def check_top(self, top):
        self.assertEqual(top.returncode, 0, top)
        if re.search("^Type: (growth|inuse_space)$", top.stdout, re.MULTILINE):
            self.assertRegex(top.stdout, r"\ABy the program's own code nearest to the allocation:\n|\n# no stack shows the program's own code")

    def check_living(self, pid):
        """A process that grows: its figures may be of two moments."""
        for command in (("capture", "--pid", pid), ("trend", "--pid", pid, "--count", "2", "--interval", "0.5")):
            done = subprocess.run([tools.BINARY, *map(str, command)], cwd=self.scratch, capture_output=True, text=True, timeout=120, check=False)
            self.assertEqual((done.returncode, done.stderr.count("\n") < 3), (0, True), done)
            self.assertGreater(len(done.stdout.splitlines()), 2, done)

    def walk(self, name, limit_mb, *command):
        port = free_port()
        origin = f"http://localhost:{port}"
        witness = self.daemon("[growth]\nenabled = true\n", args=["--web-listen", f"127.0.0.1:{port}"])
        box, large = self.cgroup(name, limit_mb), self.cgroup(name + "-living", 8 * limit_mb)
        self.start(command, box).wait_killed()
        living = self.start(command, large)
        eventually(lambda: large.usage() > limit_mb << 19, lambda: f"it grows, {large.usage()}", 60)
        self.check_living(living.pid)
        incident = eventually(lambda: next((i for i in self.incidents_of(witness, box) if i["answer"]), None), "an answer", 30)
        data = ["--data-dir", witness.data_dir]
        self.check_list(incident, data)
        self.check_show(incident, data, living.pid)
        self.assertEqual(run_cli("render", "-o", os.path.join(self.scratch, "heap.svg"), *data).returncode, 0)
        for profile in {None, *(name for name in os.listdir(incident["_dir"]) if name.endswith(".pb.gz"))}:
            self.check_top(run_cli("top", *([os.path.join(incident["_dir"], profile)] if profile else []), *data))
        self.check_pages(origin, incident)

    def test_go(self):
        self.walk("go", 128, tools.go_program("1.27", "strip", folder="service-go"), "-profile-rate", "65536")

    def test_go_without_a_heap_profile(self):
        self.walk("go-bare", 128, tools.go_program("1.27", "strip", folder="service-go"), "-profile-rate", "0")

    def test_python(self):
        self.walk("python", 96, PYTHON, "-c", SESSIONS)

    def test_java(self):
        java, classes = tools.java_workload()
        tools.read_ahead(os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(java))), "lib"))
        self.walk("java", 160, java, "-Xmx1g", "-XX:+UseSerialGC", "-Xmn4m", "-cp", classes, "Filler", "heap", "20")

    def test_node(self):
        if not NODE:
            self.skipTest("there is no node here")
        tools.read_ahead(os.path.realpath(NODE))
        self.walk("node", 150, NODE, "--max-old-space-size=1024", os.path.join(tools.WORKLOADS, "node", "service.js"), "sessions", "80")

    def test_c_plus_plus(self):
        self.walk("cpp", 96, tools.sessions(), "60000", "20000", "1000")
