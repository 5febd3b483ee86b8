# SPDX-License-Identifier: Apache-2.0
"""The pages that show what a running daemon knows, in a real browser beside one."""
import os
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))

from harness.case import E2eTest  # noqa: E402
from harness.daemon import free_port  # noqa: E402
from test_pages import CONTRAST, LABELS, SHOTS, TOO_WIDE  # noqa: E402
from webdriver import Browser, need_browser  # noqa: E402

MIB = 1 << 20
HOLDER = "import sys, time; held = bytearray(int(sys.argv[1]) << 20); print('ready', flush=True); time.sleep(600)"
HOSTILE = "<img src=x onerror=window.owned=1>"
ROWS = "[...document.querySelectorAll('#main tbody tr')].map((row) => [...row.cells].map((c) => c.textContent.trim()))"


class Live(E2eTest):
    def hold(self, name, limit_mib, held_mib):
        box = self.cgroup(name, limit_mib)
        self.start([shutil.which("python3"), "-c", HOLDER, str(held_mib)], box)
        return box.name

    def open(self, browser, path):
        browser.log()
        browser.open(self.origin + path)
        self.assertEqual(browser.log(), [])
        self.assertIsNone(browser.run("window.owned"))

    def row(self, browser, name):
        """Waits for the row of that container; the page asks again every 5 s."""
        browser.wait(f"{ROWS}.some((row) => row[0].includes({name!r}))")
        return next(row for row in browser.run(ROWS) if name in row[0])

    def test_now_shows_who_is_near_a_limit_and_health_the_daemon(self):
        need_browser()
        port = free_port()
        self.origin = f"http://localhost:{port}"
        near, far, hostile = self.hold("near", 100, 70), self.hold("far", 400, 8), self.hold(HOSTILE, 64, 48)
        self.daemon("[sampler]\nslow_seconds = 1\n", args=["--web-listen", f"127.0.0.1:{port}"])
        browser = Browser()
        self._stack.callback(browser.close)
        os.makedirs(SHOTS, exist_ok=True)
        self.open(browser, "/now")
        row = self.row(browser, near)
        self.assertGreaterEqual(int(row[1].removesuffix(" %")), 70)
        self.assertTrue(row[2].endswith("of 100 MiB"), row)
        self.row(browser, hostile)
        self.assertNotIn(far, browser.run("document.querySelector('#main').textContent"))
        browser.click("#all")
        self.assertTrue(self.row(browser, far)[2].endswith("of 400 MiB"))
        self.check_every_look(browser, "/now", f"{ROWS}.some((row) => row[0].includes({near!r}))", "now")
        self.open(browser, "/health")
        text = browser.run("document.querySelector('#main').innerText")
        self.assertRegex(text, r"Daemon\s+[\d.]+ MiB resident")
        self.assertNotRegex(text, r"(?m)^[a-z][a-z ]+\t0$", "what never happened is not listed")
        self.check_every_look(browser, "/health", "true", "health-live")

    def check_every_look(self, browser, path, ready, name):
        for width in (1280, 390):
            for scheme in ("light", "dark"):
                with self.subTest(page=path, width=width, scheme=scheme):
                    browser.size(width, 900 if width > 400 else 844)
                    browser.colours(scheme)
                    self.open(browser, path)
                    browser.wait(ready)
                    browser.screenshot(os.path.join(SHOTS, f"{name}-{width}-{scheme}.png"))
                    self.assertEqual(browser.run(LABELS), [])
                    self.assertEqual(browser.run(CONTRAST), [])
                    self.assertLessEqual(browser.run("document.documentElement.scrollWidth"), width, browser.run(TOO_WIDE, width))
