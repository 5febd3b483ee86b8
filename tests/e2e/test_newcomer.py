# SPDX-License-Identifier: Apache-2.0
"""A newcomer's walk: from a list to the guilty line in two commands; and what a shell completes. No daemon, no kill."""
import fcntl
import json
import os
import pty
import shutil
import struct
import subprocess
import termios

from harness import tools
from harness.case import E2eTest
from harness.daemon import run_cli

KNOWN = os.path.join(tools.TREE, "tests/fixtures/incidents/leak_with_endpoint.json")
COMPLETION = os.path.join(tools.TREE, "deploy/completion")


def on_terminal(*args, columns=100, rows=24):
    """What a terminal without colours gets."""
    ours, terminal = pty.openpty()
    try:
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "PAGER": "cat"}
        done = subprocess.run([tools.BINARY, *map(str, args)], stdout=terminal, stderr=subprocess.PIPE, env=environment,
                              timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return os.read(ours, 1 << 16).decode().replace("\r\n", "\n")
    finally:
        os.close(ours)
        os.close(terminal)


class Newcomer(E2eTest):
    def kept(self):
        """A data directory with one real incident."""
        data = self.data_dir()
        with open(KNOWN, encoding="utf-8") as f:
            incident = json.load(f)
        time, short = incident["id"].split("-")
        folder = os.path.join(data, "incidents", f"{time}-cgroup-test-leak-leaky-go-{short}")
        os.makedirs(folder)
        shutil.copy(KNOWN, os.path.join(folder, "incident.json"))
        return data, incident

    def test_two_commands_lead_from_the_list_to_the_answer(self):
        data, incident = self.kept()
        listed = on_terminal("--data-dir", data, "incidents")
        short = incident["id"].split("-")[1]
        self.assertIn(short, listed)
        self.assertIn("Why one was killed: oomwitness show ID", listed)
        self.assertEqual([line for line in listed.splitlines() if len(line) > 100], [])
        shown = on_terminal("show", short, "--data-dir", data, columns=80)
        self.assertLessEqual(len(shown.splitlines()), 25, shown)
        self.assertTrue(shown.startswith("OOM kill in "), shown)
        self.assertIn(incident["verdict"]["cause"] if incident.get("verdict") else "Cause: not known", shown)
        self.assertIn(f"All of it: oomwitness show {short} --full", shown)
        self.assertEqual(on_terminal("show", "latest", "--data-dir", data, columns=80), shown)

    def test_filters_that_match_nothing_say_what_there_is(self):
        data, _ = self.kept()
        done = run_cli("incidents", "--data-dir", data, "--cause", "leek")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("none of 1 incidents", done.stdout)
        self.assertIn("causes there: ", done.stdout)
        done = run_cli("incidents", "--data-dir", data, "--since", "yesterday")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("'yesterday' is neither an age (90s, 30m, 2h, 7d) nor a time", done.stderr)

    def test_bash_completes_commands_options_and_incidents(self):
        data, incident = self.kept()
        script = f"""source {COMPLETION}/oomwitness.bash
            words() {{ COMP_WORDS=({tools.BINARY} "$@"); COMP_CWORD=$#; _oomwitness; echo "${{COMPREPLY[*]}}"; }}
            words inc; words show --fu; words --data-dir {data} show lat; words --data-dir {data} show {incident['id'][:12]}"""
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.stdout.splitlines(), ["incidents", "--full", "latest", incident["id"]], done.stderr)

    def test_other_shells_take_their_scripts(self):
        for shell, script in (("zsh", "_oomwitness"), ("fish", "oomwitness.fish")):
            path = shutil.which(shell)
            if path is None:
                self.skipTest(f"no {shell} on this machine")
            done = subprocess.run([path, "-n", os.path.join(COMPLETION, script)], capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
