# SPDX-License-Identifier: Apache-2.0
"""The pages in a real browser: each loads without an error, asks nobody else, and can be used."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))

from harness import tools  # noqa: E402
from site_data import PAYLOADS, Site, growth  # noqa: E402
from webdriver import Browser, need_browser  # noqa: E402

SHOTS = os.path.join(tools.TREE, "build/web-screenshots")

# What axe calls "label", "button-name", "link-name", "image-alt", "duplicate-id", "heading-order" and "html-has-lang".
LABELS = """(() => {
  const faults = [], seen = new Set();
  const named = (e) => e.getAttribute('aria-label') || e.textContent.trim() || e.title;
  for (const e of document.querySelectorAll('a[href], button')) if (!named(e)) faults.push('no name: ' + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll('input, select')) if (!e.labels.length && !e.getAttribute('aria-label')) faults.push('no label: ' + e.id);
  for (const e of document.querySelectorAll('canvas, svg.timeline, meter')) if (!e.getAttribute('aria-label')) faults.push('no label: ' + e.tagName);
  for (const e of document.querySelectorAll('[id]')) { if (seen.has(e.id)) faults.push('twice: ' + e.id); seen.add(e.id); }
  for (const e of document.querySelectorAll('th')) if (!e.scope) faults.push('no scope: ' + e.textContent);
  if (document.querySelectorAll('h1').length !== 1) faults.push('h1: ' + document.querySelectorAll('h1').length);
  if (!document.documentElement.lang) faults.push('no language');
  return faults;
})()"""

# WCAG AA: 4.5:1 for every text that is shown, against the first background behind it.
CONTRAST = """(() => {
  const rgb = (text) => { const n = text.match(/[\\d.]+/g).map(Number); return { c: n.slice(0, 3), a: n.length > 3 ? n[3] : 1 }; };
  const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const faults = [];
  for (const e of document.querySelectorAll('body *')) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility() || e.closest('svg, noscript, .unseen, .skip, option')) continue;
    let behind = e;
    while (behind && rgb(getComputedStyle(behind).backgroundColor).a < 1) behind = behind.parentElement;
    const back = light(rgb(getComputedStyle(behind || document.body).backgroundColor).c), front = light(rgb(getComputedStyle(e).color).c);
    const ratio = (Math.max(back, front) + 0.05) / (Math.min(back, front) + 0.05);
    if (ratio < 4.5) faults.push(ratio.toFixed(2) + ' ' + e.tagName + '.' + e.className + ': ' + e.textContent.slice(0, 40));
  }
  return faults;
})()"""


TOO_WIDE = """[...document.querySelectorAll('body *')].filter((e) => e.getBoundingClientRect().right > arguments[0] + 1)
  .map((e) => e.outerHTML.slice(0, 90))"""


class PagesTest(unittest.TestCase):
    skipped = ""  # why, for every test: the runner knows no skipped class

    @classmethod
    def setUpClass(cls):
        try:
            need_browser()
            cls.browser = Browser()
        except unittest.SkipTest as reason:
            cls.skipped = str(reason)
            return
        cls.addClassCleanup(cls.browser.close)
        cls.folder = tempfile.mkdtemp(prefix="oomw-web-")
        cls.addClassCleanup(shutil.rmtree, cls.folder, True)
        site = Site(cls.folder)
        cls.first = site.add(120, "cart-7d9f-abcde", leak=60)
        cls.second = site.add(180, "cart-7d9f-abcde", leak=80, growth=growth("example.com/shop/store.(*Session).Keep (store.go:44)", "main.(*Cart).Add"))
        cls.other = site.add(240, "search-0", cause="spike", namespace="find", with_profiles=False)
        cls.hostile = [site.add(300 + i, name, cause="unknown", namespace=name, cgroup_path=name, growth=growth(name, note=name)) for i, name in enumerate(PAYLOADS)]
        cls.server = subprocess.Popen([tools.BINARY, "web", "--data-dir", cls.folder, "--listen", "127.0.0.1:0"],
                                      stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end, cls.server)
        cls.origin = re.search(r"http://localhost:\d+", cls.server.stdout.readline())[0]
        os.makedirs(SHOTS, exist_ok=True)

    @staticmethod
    def end(process):
        process.terminate()
        process.wait()
        process.stdout.close()

    def setUp(self):
        if self.skipped:
            self.skipTest(self.skipped)
        self.browser.size(1280, 900)
        self.browser.colours("light")

    def open(self, path, ready="true"):
        self.browser.log()
        self.browser.requests()
        self.browser.open(self.origin + path)
        self.browser.wait(ready)
        self.check_page(path)

    def check_page(self, path):
        self.assertEqual(self.browser.log(), [], path)
        self.assertEqual(self.browser.run(LABELS), [], path)
        self.assertEqual(self.browser.run(CONTRAST), [], path)
        strangers = [url for url in self.browser.requests() if not url.startswith((self.origin + "/", "data:"))]
        self.assertEqual(strangers, [], path)
        self.assertIsNone(self.browser.run("window.owned"), path)

    def text(self, selector="#main"):
        return self.browser.run("document.querySelector(arguments[0]).innerText", selector)

    def shoot(self, name):
        self.browser.screenshot(os.path.join(SHOTS, name + ".png"))

    def paths(self):
        return {"list": "/", "incident": f"/i/{self.second}", "flame": f"/i/{self.second}/flame", "growth": f"/i/{self.second}/flame?mode=growth",
                "compare": f"/compare?a={self.first}&b={self.second}", "health": "/health"}

    def test_every_page_loads_in_both_colours_and_on_a_phone(self):
        for name, path in self.paths().items():
            for width in (1280, 390):
                for scheme in ("light", "dark"):
                    with self.subTest(page=name, width=width, scheme=scheme):
                        self.browser.size(width, 900 if width > 400 else 844)
                        self.browser.colours(scheme)
                        self.open(path)
                        self.shoot(f"{name}-{width}-{scheme}")
                        wide = self.browser.run("document.documentElement.scrollWidth")
                        self.assertLessEqual(wide, width, f"the page scrolls sideways: {self.browser.run(TOO_WIDE, width)}")

    def test_the_list_answers_filters_that_the_address_keeps(self):
        self.open("/", "document.querySelector('#results').dataset.matched")
        self.assertIn(f"{3 + len(PAYLOADS)} of {3 + len(PAYLOADS)} incidents", self.text())
        self.assertIn("×2", self.text())  # two of one workload in a row
        self.browser.click(".chips button:nth-of-type(1)")
        self.browser.wait("location.search.includes('cause=')")
        self.browser.type("#q", "search-0")
        self.browser.wait("location.search.includes('q=search-0')")
        self.open("/?cause=spike", "document.querySelector('#results').dataset.matched === '1'")
        self.assertEqual(self.browser.run("document.querySelector('.chip[aria-pressed=true]').textContent"), "spike 1")
        self.open("/?namespace=find", "document.querySelector('#results').dataset.matched === '1'")
        self.browser.click("#results a")
        self.browser.wait(f"location.pathname === '/i/{self.other}'")

    def test_the_answer_stands_first_on_an_incident(self):
        self.open(f"/i/{self.second}")
        text = self.text()
        self.assertLess(text.index("sessions of checkout are never removed"), text.index("Captures"))
        for part in ("example.com/shop/store.(*Session).Keep", "Give sessions an end", "registry.example/shop:1.4.2", "Other kills of this workload", "capture-02-at_kill.pb.gz"):
            self.assertIn(part, text)

    def test_what_grew_it_is_a_table_with_its_flame_graph(self):
        self.open(f"/i/{self.second}")
        rows = self.browser.run("""[...document.querySelectorAll('table')].find((t) => t.caption && t.caption.textContent === 'What grew it')
          .querySelectorAll('tbody tr').values().map((row) => [...row.cells].map((c) => c.textContent)).toArray()""")
        self.assertEqual(rows, [["example.com/shop/store.(*Session).Keep (store.go:44)", "main.(*Shop).checkout", "32.0 MiB", "50 %"],
                                ["main.(*Cart).Add", "main.(*Shop).checkout", "16.0 MiB", "25 %"],
                                ["threads of a garbage collector", "–", "1.00 MiB", "1.6 %"]])
        self.assertIn("64.0 MiB in 2048 samples, 3 lost", self.text())
        self.open(f"/i/{self.second}/flame?capture=growth.pb.gz", "document.querySelector('canvas').dataset.drawn > 5")
        self.assertEqual(self.browser.run("document.querySelector('#flame-capture').value"), "growth.pb.gz")
        self.assertEqual(self.browser.run("document.querySelector('canvas').getAttribute('aria-label').includes('89.0 MiB')"), True)
        self.open(f"/i/{self.first}")
        self.assertNotIn("What grew it", self.text())

    def test_every_link_leads_somewhere(self):
        seen = set()
        for path in (*self.paths().values(), f"/i/{self.other}"):
            self.browser.open(self.origin + path)
            seen.update(self.browser.run("[...document.querySelectorAll('a[href]')].map((a) => a.href)"))
        self.assertGreater(len(seen), 12)
        for url in sorted(seen):
            with urllib.request.urlopen(url) as answer:  # raises for what is not there
                self.assertEqual(answer.status, 200, url)

    def test_the_timeline_zooms_by_mouse_and_keys(self):
        self.open(f"/i/{self.second}")
        whole = self.browser.run("document.querySelector('svg.timeline').dataset.range")
        self.browser.type("svg.timeline", "+")
        self.assertNotEqual(self.browser.run("document.querySelector('svg.timeline').dataset.range"), whole)
        self.browser.type("svg.timeline", "\ue00c")  # Escape
        self.assertEqual(self.browser.run("document.querySelector('svg.timeline').dataset.range"), whole)
        self.assertEqual(self.browser.run("document.querySelectorAll('svg.timeline polyline.usage').length"), 2)  # a gap between

    def test_a_flame_graph_is_searched_zoomed_and_linked_to(self):
        path = f"/i/{self.second}/flame"
        self.open(path, "document.querySelector('canvas').dataset.drawn > 5")
        self.browser.type("#flame-search", "session")
        self.browser.wait("document.querySelector('#matched').textContent !== ''")
        self.assertEqual(self.text("#matched"), "matched: 89 %")  # 80 of 90 MiB
        self.assertTrue(self.browser.run("location.search").endswith("q=session"))
        for key in ("\ue015", "\ue015", "\ue007"):  # down, down, Enter
            self.browser.type("canvas", key)
        zoomed = self.browser.run("location.href")
        self.assertIn("#zoom=0.0", zoomed)
        self.open(zoomed.removeprefix(self.origin), "document.querySelector('canvas').dataset.drawn > 0")
        self.assertEqual(self.browser.run("document.querySelector('#flame-search').value"), "session")
        self.browser.type("canvas", "\ue00c")
        self.assertEqual(self.browser.run("location.hash"), "")

    def test_a_drag_moves_a_zoomed_flame_graph_and_visits_only_what_is_in_view(self):
        self.open(f"/i/{self.second}/flame", "document.querySelector('canvas').dataset.drawn > 5")
        view = "(({ left, visited }) => [Number(left), Number(visited)])(document.querySelector('canvas').dataset)"
        whole = self.browser.run(view)
        self.open(f"/i/{self.second}/flame#zoom=0.1", "document.querySelector('canvas').dataset.drawn > 0")  # warmCache: 6 of 90 MiB
        left, visited = self.browser.run(view)
        self.assertEqual(left, 83 << 20)
        self.assertEqual(visited, 4, "all, main.main, warmCache and cache.New")
        self.assertGreater(whole[1], visited)
        box = self.browser.run("(({ left, top, width }) => [left, top, width])(document.querySelector('canvas').getBoundingClientRect())")
        self.browser.drag(box[0] + 100, box[0] + 100 + box[2] / 3, box[1] + 50)
        self.browser.wait(f"Math.abs(document.querySelector('canvas').dataset.left / {1 << 20} - 81) < 0.1")  # a third of 6 MiB
        self.assertTrue(self.browser.run("location.href").endswith("#zoom=0.1"), "a drag is no click")

    def test_a_flame_graph_groups_and_compares(self):
        for query, wanted in (("by=package", "example.com/shop/store"), ("by=operation", "endpoint main.(*Shop).checkout"), ("mode=growth", "Compared with capture-01-live.pb.gz")):
            with self.subTest(query=query):
                self.open(f"/i/{self.second}/flame?{query}", "document.querySelector('canvas').dataset.drawn > 0")
                self.browser.run("document.querySelector('details').open = true")
                self.assertIn(wanted, self.text())
        self.open(f"/compare?a={self.first}&b={self.second}", "document.querySelector('canvas').dataset.drawn > 0")
        self.assertIn("store.(*Session).Keep", self.text())

    def test_names_of_every_kind_stay_text(self):
        for incident in self.hostile:
            for path in (f"/i/{incident}", f"/i/{incident}/flame"):
                self.open(path)
        self.open("/", "document.querySelector('#results').dataset.matched")
        self.assertEqual(self.browser.run("document.querySelectorAll('#main script, #main img, #main svg').length"), 0)

    def test_what_is_not_there_says_so(self):
        for path, wanted in (("/i/20260101T000000Z-00000000", "no such incident"), (f"/i/{self.other}/flame", "no profile"), ("/now", "no daemon runs here")):
            self.browser.open(self.origin + path)
            self.assertIn(wanted, self.text())

    def test_the_api_gives_the_same_as_json(self):
        with urllib.request.urlopen(f"{self.origin}/api/v1/incidents/{self.second}/flame?by=package") as answer:
            flame = json.load(answer)["flame"]
        self.assertEqual(flame["total"], 90 << 20)
        self.assertEqual(flame["frames"][0][:4], [0, -1, 0, 90 << 20])


if __name__ == "__main__":
    unittest.main()
