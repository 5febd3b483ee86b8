# SPDX-License-Identifier: Apache-2.0
"""A newcomer's walk: from a list to the guilty line in two commands; and what a shell completes. No daemon, no kill."""
import json
import os
import re
import shutil
import subprocess
import sys

from harness import fileio, tools
from harness.case import E2eTest
from harness.daemon import run_cli
from harness.terminal import on_terminal

sys.path.insert(0, os.path.join(tools.TREE, "tests/web"))

from site_data import Site  # noqa: E402

COMPLETION = os.path.join(tools.TREE, "deploy/completion")
GUILTY = "example.com/shop/store.(*Session).Keep (store.go:44)"


class Newcomer(E2eTest):
    def kept(self, kills=1):
        """A data directory with one incident, or several of one workload; the id of the newest."""
        site = Site(self.data_dir())
        return self.data_dir(), [site.add(60 * (2 + kill), "cart-7d9f-abcde") for kill in range(kills)][-1]

    def test_two_commands_lead_from_the_list_to_the_guilty_line(self):
        data, incident = self.kept()
        listed = on_terminal("--data-dir", data, "incidents")
        short = incident.split("-")[1]
        self.assertIn(short, listed)
        self.assertIn(f"Why one was killed: oomwitness show ID --data-dir {data} (its end is enough, or \"latest\")\n", listed)
        self.assertEqual([line for line in listed.split("\n\n")[0].splitlines() if len(line) > 100], [])
        shown = on_terminal("show", short, "--data-dir", data, columns=80)
        lines = shown.splitlines()
        self.assertLessEqual(len(lines), 25, shown)
        self.assertTrue(lines[0].startswith("OOM kill in container web of pod shop/cart-7d9f-abcde, "), shown)
        answer = " ".join(line.strip() for line in lines[1:8])
        for part in ("was killed at its limit of 128 MiB: sessions of checkout are never removed.", f"Code: {GUILTY} allocates 86 % (80.0 MiB)",
                     "for endpoint main.(*Shop).checkout", "path: main.(*Shop).checkout > main.(*Cart).Add",
                     "What to do: Give sessions an end: see store.go:44."):
            self.assertIn(part, answer)
        self.assertIn("Likely cause: leak (80 % sure), because", shown)
        self.assertIn(f"\nAll of it: oomwitness show {short} --data-dir {data} --full\n", shown)
        self.assertEqual(on_terminal("show", "latest", "--data-dir", data, columns=80), shown)

    def test_what_a_screen_advises_works_as_it_is(self):
        data, _ = self.kept()
        place, = (entry.path for entry in os.scandir(os.path.join(data, "incidents")))
        for words in (("latest", "--data-dir", data), (place,)):
            shown = on_terminal("show", *words, columns=80)
            advice = re.search(r"All of it: oomwitness (.*)", shown)[1]
            self.assertEqual(run_cli(*advice.split()).stdout.splitlines()[0], "report", advice)

    def test_repeats_are_one_row_unless_all_are_wanted(self):
        data, newest = self.kept(kills=3)
        listed = on_terminal("incidents", "--data-dir", data)
        self.assertRegex(listed, rf"(?m)^{newest.split('-')[1]}  x3, ")
        self.assertEqual(len(listed.splitlines()), 4, listed)
        self.assertEqual(len(on_terminal("incidents", "--all", "--data-dir", data).splitlines()), 6)

    def test_filters_that_match_nothing_say_what_there_is(self):
        data, _ = self.kept()
        done = run_cli("incidents", "--data-dir", data, "--cause", "leek")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(done.stdout, f"none of 1 incidents in {data}/incidents matches; causes there: leak; namespaces: shop\n")
        done = run_cli("incidents", "--data-dir", data, "--since", "yesterday")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("'yesterday' is neither an age (90s, 30m, 2h, 7d) nor a time (2026-11-21T03:04:05Z)", done.stderr)

    def test_what_is_not_there_says_where_it_was_looked_for(self):
        empty = os.path.join(self.scratch, "empty")
        for command in ("incidents", "show", "top", "export"):
            done = run_cli(command, "--data-dir", empty)
            self.assertEqual((done.returncode, done.stdout), (1, ""), command)
            self.assertIn(f"no directory {empty}: no daemon has run with it here", done.stderr)
        fileio.write(empty, "a file")
        done = run_cli("incidents", "--data-dir", empty)
        self.assertEqual((done.returncode, done.stdout), (1, ""), done)
        os.unlink(empty)
        os.makedirs(empty)
        self.assertTrue(run_cli("incidents", "--data-dir", empty).stdout.startswith(f"no incidents in {empty}/incidents\nIs the daemon"))
        self.assertIn(f"no incident latest: there are none in {empty}/incidents", run_cli("show", "latest", "--data-dir", empty).stderr)
        data, _ = self.kept()
        self.assertIn(f"no incident nope in {data}/incidents; what is there: oomwitness incidents --data-dir {data}\n",
                      run_cli("show", "nope", "--data-dir", data).stderr)

    def test_what_cannot_be_had_says_why(self):
        site = Site(self.data_dir())
        bare = site.add(120, "cart-7d9f-abcde", with_profiles=False)
        for command in ("diff", "render"):
            self.assertIn(f"incident {bare} has no profile\n", run_cli(command, bare, "--data-dir", self.data_dir()).stderr)
        self.assertIn("an archive is not for a terminal: use -o FILE, or a pipe to tar -xf -\n",
                      on_terminal("export", bare, "-o", "-", "--data-dir", self.data_dir(), status=1))

    def test_incidents_that_made_room_are_counted_below_the_list(self):
        data, _ = self.kept()
        last = "2026-11-20T01:02:03.000000000Z"
        with open(os.path.join(data, "retention.json"), "w", encoding="ascii") as file:
            json.dump({"version": 1, "dropped": {"shop/web/nginx": {"count": 2, "last": last}, "shop/cart/app": {"count": 7, "last": last}},
                       "dropped_others": 3}, file)
        listed = run_cli("incidents", "--data-dir", data).stdout
        self.assertTrue(listed.endswith("not kept: 7 of shop/cart/app, the last of 2026-11-20T01:02:03Z\n"
                                        "not kept: 2 of shop/web/nginx, the last of 2026-11-20T01:02:03Z\nnot kept: 3 of others\n"), listed)
        for words in (["--container", "nginx"], ["--pod", "web-7d9f-abcde"], ["--namespace", "shop", "--container", "nginx"]):
            listed = run_cli("incidents", *words, "--data-dir", data).stdout
            self.assertTrue(listed.endswith("not kept: 2 of shop/web/nginx, the last of 2026-11-20T01:02:03Z\n"), listed)
            self.assertNotIn("shop/cart/app", listed)

    def test_what_is_longer_than_the_screen_goes_to_the_pager(self):
        data, incident = self.kept(kills=9)
        paged = on_terminal("incidents", "--all", "--data-dir", data, rows=8, PAGER="sed 's/^/paged: /'")
        self.assertEqual([line for line in paged.splitlines() if not line.startswith("paged: ")], [])
        self.assertIn(incident.split("-")[1], paged)
        self.assertNotIn("paged", on_terminal("incidents", "--all", "--data-dir", data, rows=24, PAGER="sed 's/^/paged: /'"))

    def check_completion(self, shell, script_of):
        """script_of(lines of words) prints what each line is completed to."""
        path = shutil.which(shell)
        if path is None:
            self.skipTest(f"no {shell} on this machine (deploy/install-deps.sh tests installs it)")
        data, incident = self.kept()
        lines = ("inc", "show --fu", f"--data-dir {data} show lat", f"--data-dir {data} export {incident[:12]}")
        programs = os.path.join(self.scratch, "programs")
        os.makedirs(programs)
        os.symlink(tools.BINARY, os.path.join(programs, "oomwitness"))
        environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "HOME": self.scratch}
        done = subprocess.run([path, "-c", script_of(lines)], capture_output=True, text=True, timeout=60, check=False, env=environment,
                              cwd=programs)  # fish offers files beside the words
        self.assertEqual(done.stdout.splitlines(), ["incidents", "--full", "latest", incident], done.stderr)

    def test_bash_completes_commands_options_and_incidents(self):
        self.check_completion("bash", lambda lines: f"""source {COMPLETION}/oomwitness.bash
            words() {{ COMP_WORDS=(oomwitness "$@"); COMP_CWORD=$#; _oomwitness; echo "${{COMPREPLY[*]}}"; }}
            """ + "; ".join(f"words {line}" for line in lines))

    def test_zsh_does(self):
        """By stand-ins for the builtin that takes the words, which runs in a line that is edited only."""
        self.check_completion("zsh", lambda lines: f"""compadd() {{ print -rl -- ${{(P)2}}; }}; _files() {{ print files; }}
            words() {{ local -a words=(oomwitness "$@"); local CURRENT=$#words; source {COMPLETION}/_oomwitness; }}
            """ + "; ".join(f"words {line}" for line in lines))

    def test_fish_does(self):
        self.check_completion("fish", lambda lines: f"source {COMPLETION}/oomwitness.fish; " +
                              "; ".join(f"complete -C 'oomwitness {line}'" for line in lines))
