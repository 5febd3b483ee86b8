# SPDX-License-Identifier: Apache-2.0
"""diff, render and show: of files, of incidents, and their errors. No daemon, no kill."""
import glob
import json
import os
import shutil
import stat
import xml.etree.ElementTree as xml

from harness import fileio, tools
from harness.case import E2eTest
from harness.daemon import run_cli, run_program
from harness.terminal import on_terminal

DATA = os.path.join(tools.TREE, "tests/unit/pprof/data")
EARLY = os.path.join(DATA, "collector-early.pb.gz")
KILL = os.path.join(DATA, "collector-kill.pb.gz")
LEAKY = os.path.join(DATA, "leaky-go.pb.gz")
SVG = "{http://www.w3.org/2000/svg}"


class ProfileTest(E2eTest):
    def assert_fails(self, done, status, *words):
        self.assertEqual(done.returncode, status, done)
        lines = done.stderr.strip().splitlines()
        if status == 1:
            self.assertEqual(len(lines), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def incident(self):
        """An incident on disk with two profiles of one process: (data directory, id)."""
        folder = os.path.join(self.data_dir(), "incidents", "20261121T030405Z-shop-api-0-api-1a2b3c4d")
        os.makedirs(folder)
        shutil.copy(os.path.join(tools.TREE, "tests/unit/incident/data/known.json"), f"{folder}/incident.json")
        shutil.copy(EARLY, f"{folder}/capture-01-http.pb.gz")
        shutil.copy(KILL, f"{folder}/capture-02-http.pb.gz")
        return self.data_dir(), "20261121T030405Z-1a2b3c4d"


class Diff(ProfileTest):
    def test_two_files_by_function(self):
        done = run_cli("diff", EARLY, KILL, "--rows", 3, status=0)
        self.assertIn("+40.0 MiB", done.stdout)
        self.assertIn("(*AnyValue).UnmarshalProto", done.stdout.splitlines()[5])

    def test_json_has_numbers_that_add_up(self):
        done = run_cli("diff", EARLY, KILL, "--by", "component", "--json", status=0)
        diff = json.loads(done.stdout)
        self.assertEqual(diff["rows"][0]["name"], "receiver/otlp")
        growth = diff["after"]["total"] - diff["before"]["total"]
        self.assertEqual(sum(row["growth"] for row in diff["rows"]), growth)

    def test_every_grouping_and_type(self):
        for by in ("function", "stack", "package", "module", "component", "operation"):
            for kind in ("inuse_space", "alloc_objects"):
                done = run_cli("diff", EARLY, KILL, "--by", by, "--type", kind, status=0)
                self.assertIn(kind, done.stdout)

    def test_operations_in_top_diff_and_picture(self):
        for command in (("top", KILL), ("diff", EARLY, KILL), ("render", KILL, "-o", "-")):
            done = run_cli(*command, "--by", "operation", status=0)
            self.assertIn("component receiver/otlp", done.stdout)
            self.assertEqual("UnmarshalProto" in done.stdout, command[0] == "render", done.stdout[:500])

    def test_operations_below_a_pattern_of_the_configuration(self):
        config = os.path.join(self.scratch, "o.toml")
        fileio.write(config, '[operations]\npatterns = ["job main.main"]\n')
        for command in (("top", LEAKY), ("diff", EARLY, LEAKY), ("render", LEAKY, "-o", "-")):
            done = run_cli(*command, "--by", "operation", "--config", config, status=0)
            self.assertIn("job main.leak", done.stdout)
            self.assertNotIn("job main.leak", run_cli(*command, "--by", "operation").stdout)

    def test_an_incident_alone_is_compared_from_its_first_profile_to_its_best(self):
        data_dir, incident = self.incident()
        done = run_cli("diff", incident, "--data-dir", data_dir, status=0)
        self.assertIn("+40.0 MiB", done.stdout)

    def test_an_incident_stands_for_its_best_profile(self):
        data_dir, incident = self.incident()
        done = run_cli("diff", KILL, incident, "--data-dir", data_dir, status=0)
        self.assertIn("no function grew or shrank", done.stdout)

    def test_what_is_not_there_is_one_clear_line(self):
        self.assert_fails(run_cli("diff", "/nonexistent.pb.gz", KILL), 1, "/nonexistent.pb.gz")
        self.assert_fails(run_cli("diff", "nope", KILL, "--data-dir", self.data_dir()), 1, "nope")
        self.assert_fails(run_cli("diff", EARLY, KILL, "--type", "cpu"), 1, "cpu")
        self.assert_fails(run_cli("diff", EARLY, __file__), 1, "test_cli_profiles.py")

    def test_an_incident_with_one_profile_is_not_compared_with_itself(self):
        data_dir, incident = self.incident()
        path, = glob.glob(f"{data_dir}/incidents/*/incident.json")
        known = fileio.read_json(path)
        known["captures"] = [capture for capture in known["captures"] if capture["file"] == "capture-02-http.pb.gz"]
        fileio.write_json(path, known)
        self.assert_fails(run_cli("diff", incident, "--data-dir", data_dir), 1, f"incident {incident} has one profile only: name another to compare with")

    def test_bad_use(self):
        self.assertEqual(run_cli("diff", KILL, KILL, KILL).returncode, 2)
        self.assertEqual(run_cli("diff", EARLY, KILL, "--by", "colour").returncode, 2)


class Render(ProfileTest):
    def render(self, *args):
        target = os.path.join(self.scratch, "flame.svg")
        done = run_cli("render", *args, "-o", target, status=0)
        return xml.parse(target).getroot()

    def titles(self, picture):
        return [title.text.split("\n")[0] for title in picture.iter(SVG + "title")]

    def test_a_profile_is_a_picture_with_its_functions(self):
        picture = self.render(LEAKY)
        self.assertEqual(picture.tag, SVG + "svg")
        self.assertIn("main.leakyCache", self.titles(picture))

    def test_a_diff_is_a_picture_of_what_changed(self):
        self.assertGreater(len(self.titles(self.render(KILL, "--diff-base", EARLY))), 30)
        self.assertEqual(self.titles(self.render(KILL, "--diff-base", KILL)), [])

    def test_a_profile_is_never_written_over(self):
        copy = os.path.join(self.scratch, "heap.pb.gz")
        shutil.copy(LEAKY, copy)
        self.assert_fails(run_cli("render", copy, "-o", copy), 1, copy)
        self.assertEqual(os.path.getsize(copy), os.path.getsize(LEAKY))

    def test_to_stdout_is_the_picture_and_nothing_else(self):
        target = os.path.join(self.scratch, "flame.svg")
        self.assertEqual(run_cli("render", LEAKY, "-o", target).returncode, 0)
        picture = fileio.read(target)
        for name in ("-", "/dev/stdout"):
            done = run_cli("render", LEAKY, "-o", name, status=0)
            self.assertEqual(done.stdout, picture)
        self.assertTrue(os.path.islink("/dev/stdout"))

    def test_what_is_no_regular_file_is_never_replaced(self):
        device = os.path.join(self.scratch, "null")
        os.mknod(device, stat.S_IFCHR | 0o600, os.makedev(1, 3))
        done = run_cli("render", LEAKY, "-o", device)
        self.assertTrue(stat.S_ISCHR(os.lstat(device).st_mode), done)

    def test_without_a_converter_png_names_what_is_looked_for(self):
        target = os.path.join(self.scratch, "flame.svg")
        done = run_program("/usr/bin/env", "PATH=/nonexistent", tools.BINARY, "render", LEAKY, "-o", target, "--png")
        self.assert_fails(done, 1, "rsvg-convert")
        self.assertTrue(os.path.exists(target), "the SVG is there all the same")

    def test_png_is_a_picture_where_a_converter_is(self):
        if not shutil.which("rsvg-convert"):
            self.skipTest("rsvg-convert is not here")
        self.render(LEAKY, "--png")
        with open(os.path.join(self.scratch, "flame.png"), "rb") as picture:
            self.assertEqual(picture.read(8), b"\x89PNG\r\n\x1a\n")
        self.assertEqual([name for name in os.listdir(self.scratch) if "tmp" in name], [])


REPORT = """# OOM kill in container api

The kernel killed **api** (pid 7) in a\\_b because its own limit of 256 MiB was used up. It had grown for an hour.

| file | method | what it says of the kill | size |
|---|---|---|---:|
| capture-01-http.pb.gz | http | live up to two garbage collections before, so the newest are missing | 80 MiB |

    go tool pprof -top capture-01-http.pb.gz
"""


class Show(ProfileTest):
    COLUMNS = 80

    def reported(self):
        data_dir, incident = self.incident()
        folder, = os.listdir(os.path.join(data_dir, "incidents"))
        fileio.write(os.path.join(data_dir, "incidents", folder, "report.md"), REPORT)
        return data_dir, incident

    def show(self, **environment):
        data_dir, incident = self.reported()
        return on_terminal("show", incident, "--full", "--data-dir", data_dir, columns=self.COLUMNS, **environment)

    def test_a_report_fits_a_terminal(self):
        text = self.show()
        self.assertNotIn("\x1b", text)
        lines = text.split("Files: ")[0].splitlines()
        self.assertEqual([line for line in lines if len(line) > self.COLUMNS], [])
        self.assertIn("The kernel killed api (pid 7) in a_b", text)
        self.assertIn("capture-01-http.pb.gz  http", text)

    def test_a_terminal_gets_colours_and_a_pipe_plain_text_or_the_file_as_it_is(self):
        self.assertTrue(self.show(NO_COLOR="").startswith("\x1b[1mOOM kill in container api\x1b[0m"))
        shutil.rmtree(self.data_dir())
        data_dir, incident = self.reported()
        self.assertTrue(run_cli("show", incident, "--markdown", "--data-dir", data_dir).stdout.startswith(REPORT))
        plain = run_cli("show", incident, "--full", "--data-dir", data_dir).stdout
        self.assertTrue(plain.startswith("OOM kill in container api"), plain)
        self.assertEqual(set(plain) & set("\x1b\\"), set(), plain)
        brief = run_cli("show", "--data-dir", data_dir).stdout
        self.assertTrue(brief.startswith("OOM kill in "), brief)
        self.assertLessEqual(len(brief.splitlines()), 25)
