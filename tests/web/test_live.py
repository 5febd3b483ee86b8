# SPDX-License-Identifier: Apache-2.0
"""The pages that show what a running daemon knows, in a real browser beside one."""
import json
import os
import re
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from browser_case import BrowserCase  # noqa: E402 (which sets the path of the next)
from harness.case import E2eTest  # noqa: E402
from harness.daemon import free_port  # noqa: E402

HOLDER = "import sys, time; held = bytearray(int(sys.argv[1]) << 20); print('ready', flush=True); time.sleep(600)"
HOSTILE = "<img src=x onerror=window.owned=1>"
ROWS = "[...document.querySelectorAll('#main tbody tr')].map((row) => [...row.cells].map((c) => c.textContent.trim()))"


class Live(BrowserCase, E2eTest):
    def hold(self, name, limit_mib, held_mib):
        box = self.cgroup(name, limit_mib)
        self.start([shutil.which("python3"), "-c", HOLDER, str(held_mib)], box).wait_output("ready")
        return box.name

    def open(self, path):
        self.load(self.origin + path, self.origin + "/")

    def open_now(self):
        self.open("/now")
        return self.row(self.near)

    def row(self, name):
        """Waits for the row of that container; the page asks again every 5 s."""
        self.browser.wait(f"{ROWS}.some((row) => row[0].includes({name!r}))")
        return next(row for row in self.browser.run(ROWS) if name in row[0])

    def answer_now(self, *containers):
        self.browser.run("(window.fetch = async () => new Response(JSON.stringify(arguments[0]))) && 0", {"with_a_limit": len(containers), "containers": containers})

    def meters(self):
        """How good the browser takes the value of each to be, which is its colour."""
        return re.findall(r"-webkit-meter-([a-z-]+)-value", json.dumps(self.browser.command("DOM.getDocument", {"depth": -1, "pierce": True})))

    def test_now_shows_who_is_near_a_limit_and_health_the_daemon(self):
        port = free_port()
        self.origin = f"http://localhost:{port}"
        self.near, far, hostile = self.hold("near", 100, 70), self.hold("far", 400, 8), self.hold(HOSTILE, 64, 48)
        self.daemon("[kernel.best_rung]\nreclaim = \"none\"\n[sampler]\nslow_seconds = 1\n", args=["--web-listen", f"127.0.0.1:{port}"])
        row = self.open_now()
        self.assertGreaterEqual(int(row[1].removesuffix(" %")), 70)
        self.assertTrue(row[2].endswith("of 100 MiB"), row)
        self.row(hostile)
        # Within an hour of its limit for as long as it starts.
        self.browser.wait(f"!{ROWS}.some((row) => row[0].includes({far!r}))")
        self.assertIn("Now", self.text("nav"))
        self.browser.click("#all")
        self.assertTrue(self.row(far)[2].endswith("of 400 MiB"))
        self.check_every_look("now", self.open_now)
        leaks = {"namespace": "shop", "pod": HOSTILE, "container": "web", "usage_bytes": 20 << 20, "limit_bytes": 100 << 20, "near": "time",
                 "growth_bytes_per_second": 1 << 20, "seconds_to_limit": 80, "suspected_leak": True,
                 "growing": {"name": HOSTILE, "first_bytes": 1 << 20, "last_bytes": 9 << 20, "seconds": 80}}
        later = {**leaks, "pod": "later", "seconds_to_limit": 1800, "suspected_leak": False, "growing": None}
        idle = {**later, "pod": "idle", "seconds_to_limit": None, "growth_bytes_per_second": None, "suspected_leak": None, "near": None}
        self.answer_now(leaks, later, idle)
        self.browser.wait("document.querySelector('#main').textContent.includes('2 of 3 containers')")  # it asks again by itself
        self.browser.click("#all")
        self.browser.wait("document.querySelector('#main').textContent.includes('3 of 3 containers')")
        self.assertEqual(self.browser.run(ROWS), [
            [f"shop/{HOSTILE}/web", "20 %", "20.0 MiB of 100 MiB", "1.00 MiB/s", "80 s", f"suspected leak: {HOSTILE}, 1.00 MiB to 9.00 MiB in 80 s", "–"],
            ["shop/later/web", "20 %", "20.0 MiB of 100 MiB", "1.00 MiB/s", "30 min", "no type grew steadily in the readings so far", "oomwitness capture --pod shop/later"],
            ["shop/idle/web", "20 %", "20.0 MiB of 100 MiB", "–", "–", "too few readings to say what grows", "oomwitness capture --pod shop/idle"]])
        self.assertEqual(self.browser.run("document.querySelector('#main tbody a').getAttribute('href')").split("&")[::2], ["/?namespace=shop", "container=web"])
        self.assertEqual(self.meters(), ["even-less-good", "suboptimum", "optimum"])  # red, yellow and green
        self.assertIsNone(self.browser.run("window.owned"))
        self.answer_now(idle)
        self.browser.click("#all")  # once more: only those that are near
        self.browser.wait("document.querySelector('#main').textContent.includes('None has used half of its limit')")
        self.open("/health")
        text = self.text()
        self.assertRegex(text, r"Daemon\s+[\d.]+ MiB resident")
        reclaim = self.row("reclaim")
        self.assertEqual(reclaim[1], "none")
        self.assertIn("not tried: set to none", reclaim[2])
        self.assertNotRegex(text, r"(?m)^[a-z][a-z ]+\t0$", "what never happened is not listed")
        self.check_every_look("health-live", lambda: self.open("/health"))
