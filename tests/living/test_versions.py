# SPDX-License-Identifier: Apache-2.0
"""Interpreters and C libraries as Debian's suites ship them, the oldest to the newest: what fills a program is named
and counted whatever the version."""
import os
import platform
import re
import shutil
import signal

from harness import fileio, tools
from harness.case import E2eTest
from harness.daemon import run_cli
from harness.debian_root import entering, make_folder, root_of
from harness.wait import eventually

ORDERS = """
import time
class Order:
    def __init__(self, number):
        self.number = number
        self.total = number * 1.5
ORDERS = [Order(i) for i in range(50000)]
PAIRS = [(i + 100000, "pair %d" % i) for i in range(50000)]
print("filled", flush=True)
time.sleep(600)
"""
SESSIONS = """
class Session { constructor(id) { this.id = id; this.user = 'customer-' + id; } }
const kept = [];
for (let i = 0; i < 100000; i++) kept.push(new Session(i));
gc();  // while a collection moves objects there are more or fewer of them
console.log('filled');
setInterval(() => kept.length, 1000);
"""
# 40 MiB a second, in buffers that are filled where they are kept.
UPLOADS = """
const kept = [];
function keepUpload() { kept.push(Buffer.alloc(1 << 20, 1)); }
function receive() { keepUpload(); setTimeout(receive, 25); }
receive();
"""
FILLED_MB, PER_OBJECT = 64, 1100  # as Filler.java counts them
JAVA_SESSIONS = FILLED_MB * (1 << 20) / PER_OBJECT


class Versions(E2eTest):
    def setUp(self):
        super().setUp()
        self.roots = 0

    def started(self, suite, argv, files, box=None):
        """files: {name below /mnt: text, or the path of a file}."""
        self.roots += 1
        folder = os.path.join(self.scratch, f"root-{self.roots}")
        mnt = make_folder(folder)
        for name, source in files.items():
            if os.path.isabs(source):
                shutil.copy(source, os.path.join(mnt, name))
            else:
                fileio.write(os.path.join(mnt, name), source)
        command, env = entering(root_of(suite), folder, argv)
        return self.start(command, box or self.cgroup(f"{suite}-{self.roots}", 512), env=env)

    def grown(self, suite, argv, files):
        """The growth of a program that is killed in 192 MiB."""
        witness = self.daemon("[growth]\nenabled = true\n")
        box = self.cgroup(suite + "-grown", 192)
        self.started(suite, argv, files, box).wait_killed()

        def growth():
            return next((i["growth"] for i in self.incidents_of(witness, box) if i.get("growth", {}).get("file")), None)

        return eventually(growth, lambda: f"growth of the killed one: {self.incidents_of(witness, box)}", 30)

    def captured(self, suite, argv, files):
        """What is printed of it once it has filled its memory and stands still."""
        program = self.started(suite, argv, files)
        program.wait_output("filled")
        os.kill(program.pid, signal.SIGSTOP)
        printed = run_cli("capture", "--pid", program.pid)
        os.kill(program.pid, signal.SIGKILL)
        self.assertEqual(printed.returncode, 0, printed)
        return printed.stdout

    def assert_counted(self, text, pattern, count, tolerance=0.02):
        found = re.search(pattern, text, re.M)
        self.assertIsNotNone(found, f"/{pattern}/ in {text}")
        self.assertAlmostEqual(int(found[1]), count, delta=tolerance * count, msg=text)

    def check_python(self, suite, minor):
        text = self.captured(suite, [f"/usr/bin/python3.{minor}", "/mnt/orders.py"], {"orders.py": ORDERS})
        self.assertIn("(cpython)", text)
        self.assert_counted(text, r" (\d+) type +Order$", 50_000)
        self.assert_counted(text, r" (\d+) holder +list of Order, held as `ORDERS` in module `__main__`", 50_000)
        pairs = r"(\d+) holder +list of tuple, held as `PAIRS` in module `__main__`"
        self.assert_counted(text, pairs, 50_000)
        # A tuple with its head takes 64 B, its number 32, its text 64, and its place 8.
        held = re.search(r"([\d.]+) MiB +[\d.]+ % +" + pairs, text)
        self.assertAlmostEqual(float(held[1]), 50_000 * 168 / (1 << 20), delta=0.8, msg=text)

    def test_python_3_9(self):
        self.check_python("bullseye", 9)

    def test_python_3_13(self):
        self.check_python("trixie", 13)

    def test_python_3_14(self):
        self.check_python("sid", 14)

    def check_java(self, suite, version, collectors, home=""):
        """Each object is of a class that is named, and the JVM's own settings are known."""
        _, classes = tools.java_workload()
        files = {name: os.path.join(classes, name) for name in os.listdir(classes)}
        java = f"/usr/lib/jvm/java-{version}-openjdk-amd64/{home}bin/java"
        for collector in collectors:
            # G1 may leave copies of objects that it moved: all fit where they are made.
            size = ("-Xms256m", "-Xmn160m") if collector == "G1" else ()
            program = self.started(suite, [java, "-Xmx256m", *size, f"-XX:+Use{collector}GC", "-cp", "/mnt", "Filler", "heap",
                                           "400", str(FILLED_MB)], files)

            def read():  # while they are made there are fewer, while they are moved there are two of some
                printed = run_cli("capture", "--pid", program.pid).stdout
                found = re.search(r" (\d+) type  Filler\$Session$", printed, re.M)
                return printed if found and abs(int(found[1]) - JAVA_SESSIONS) < 0.02 * JAVA_SESSIONS else None
            text = eventually(read, lambda: run_cli("capture", "--pid", program.pid), 60)
            os.kill(program.pid, signal.SIGKILL)
            self.assertIn(f"HotSpot {version}, {collector} collector, maximum heap 256 MiB (set)", text)
            self.assertRegex(text, r"stacks of \d+ Java threads")
            self.assertRegex(text, r"[1-9][\d.]* [KM]iB +code cache")
        if platform.machine() == "x86_64":
            self.check_java_growth(suite, java, files)

    def check_java_growth(self, suite, java, files):
        """Who touched its direct buffers first, by the JVM's own tables: no perf map, no option."""
        growth = self.grown(suite, [java, "-Xmx32m", "-XX:MaxDirectMemorySize=1g", "-cp", "/mnt", "Filler", "direct", "40"], files)
        places = [place for place in growth["places"] if place.get("code") == "Filler.fill"]
        self.assertEqual(len(places), 1, growth["places"])
        self.assertGreater(places[0]["share"], 0.8, growth["places"])
        largest = growth["stacks"][0]
        self.assertTrue(largest["complete"], largest)
        own = [frame for frame in largest["frames"] if frame.startswith("Filler.")]
        self.assertEqual(own, ["Filler.fill", "Filler.main"], largest)
        self.assertTrue(any(frame.startswith("java.nio.ByteBuffer.allocateDirect") for frame in largest["frames"]), largest)

    def test_java_8(self):
        self.check_java("sid", 8, ("Serial", "Parallel"), home="jre/")

    def test_java_11(self):
        self.check_java("bullseye", 11, ("Serial", "Parallel", "G1"))

    def test_java_21(self):
        self.check_java("trixie", 21, ("G1",))

    def test_java_25(self):
        self.check_java("sid", 25, ("G1",))

    def check_node(self, suite):
        text = self.captured(suite, ["/usr/bin/node", "--expose-gc", "/mnt/sessions.js"], {"sessions.js": SESSIONS})
        self.assertIn("(v8)", text)
        self.assert_counted(text, r" (\d+) holder +Session$", 100_000, 0.05)
        if platform.machine() == "x86_64":
            self.check_node_growth(suite)

    def check_node_growth(self, suite):
        """Who touched its buffers first, by V8's own frames: no perf map, no option."""
        growth = self.grown(suite, ["/usr/bin/node", "/mnt/uploads.js"], {"uploads.js": UPLOADS})
        shares = {place.get("code"): place["share"] for place in growth["places"]}
        self.assertGreater(shares.get("keepUpload (uploads.js)", 0), 0.8, growth["places"])
        self.assertTrue(growth["stacks"][0]["complete"], growth["stacks"][0])
        self.assertTrue(any(frame == "receive (uploads.js)" for frame in growth["stacks"][0]["frames"]), growth["stacks"][0])

    def test_node_20(self):
        self.check_node("trixie")

    def test_node_24(self):
        self.check_node("sid")

    def check_glibc(self, suite):
        """One program, built for the oldest C library."""
        program = tools.sessions_of(root_of("bullseye"))
        text = self.captured(suite, ["/mnt/sessions", "60000", "20000"], {"sessions": program})
        self.assert_counted(text, r" (\d+) type +shop::Session$", 60_000)
        self.assert_counted(text, r" (\d+) type +shop::Invoice$", 20_000)
        self.assertRegex(text, r"[3-9]\d\.\d MiB +malloc: in use")

    def test_glibc_2_31(self):
        self.check_glibc("bullseye")

    def test_glibc_2_43(self):
        self.check_glibc("sid")
