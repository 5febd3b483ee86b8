# SPDX-License-Identifier: Apache-2.0
"""The pages in a real browser: each loads without an error, asks nobody else, and can be used."""
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from browser_case import CONTRAST, LABELS, SHOTS, BrowserCase  # noqa: E402 (which sets the path of the next)
from harness import fileio, tools  # noqa: E402
from harness.terminal import controls_in, on_terminal  # noqa: E402
from harness.wait import eventually  # noqa: E402
from site_data import PAYLOADS, Site, contents, growth, named_everywhere, trend  # noqa: E402


FAULTY = """<body style="background: #fff"><h1>One</h1><h3 id="a">Three</h3><img src="data:,"><a href="/"></a><input id="a">
<div role="status"><table><th>Column</th><td style="max-width: 20px; overflow-wrap: anywhere">Explained</table></div><button style="width: 9px; height: 9px; padding: 0; border: 0">x</button><canvas></canvas><i tabindex="3">i</i>
<div aria-hidden="true"><button>hidden</button></div><main><div style="overflow: auto; width: 20px">wider than this</div></main>
<p style="color: #999">pale</p>"""


def visible(name):
    """The longest part of it that has neither controls nor white space: how those are shown is the page's choice."""
    return max(re.split(r"[\x00-\x20\x7f-\x9f\u2028\u202e]+", name), key=len)


CHAIN = ["index.terms", " -> map[string]*term", ".posts -> []post"]


class ChecksTest(BrowserCase):
    def test_every_fault_is_found(self):
        path = os.path.join(self.folder, "faulty.html")
        fileio.write(path, FAULTY)
        self.browser.open(f"file://{path}", "document.readyState === 'complete'")
        found = "\n".join(self.browser.run(LABELS) + self.browser.run(CONTRAST))
        for fault in ("no name: <a", "no label: a", "no label: CANVAS", "twice: a", "no scope: Column", "broken word: Explained", "a table is read aloud", "no language", "no title", "no alt: <img",
                      "heading skips a level: Three", "tab order: <i", "hidden focus: <div", "scrolls without a keyboard: <div", "small: <button",
                      "2.85 P.: pale"):
            self.assertIn(fault, found)


class SiteCase(BrowserCase):
    """The pages of a folder without a daemon."""
    @classmethod
    def serve(cls, folder):
        server = subprocess.Popen([tools.BINARY, "web", "--data-dir", folder, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end, server)
        line = server.stdout.readline()
        cls.origin = re.fullmatch(re.escape(f"the incidents of {folder} are on ") + r"(http://localhost:\d+)/ until this is interrupted\n", line)[1]

    @staticmethod
    def end(process):
        process.terminate()
        process.wait()
        process.stdout.close()

    def open(self, path, ready="true"):
        self.load(self.origin + path, self.origin + "/", then=ready)
        self.assert_readable(path)


class PagesTest(SiteCase):
    @classmethod
    def prepare(cls):
        site = Site(cls.folder)
        cls.first = site.add(120, "cart-7d9f-abcde", leak=60, **contents("contents.pb.gz", "contents-before.pb.gz"))
        cls.second = site.add(180, "cart-7d9f-abcde", leak=80, growth=growth("example.com/shop/store.(*Session).Keep (store.go:44)", "main.(*Cart).Add"))
        cls.other = site.add(240, "search-0", cause="spike", namespace="find", with_profiles=False, answer={
            "sentence": "Kept by index.", "cause": "spike", "confidence": 0.7, "action": "Bound it.",
            "culprit": {"claim": "keeps", "code": "index.terms", "path": CHAIN, "operation_kind": "", "operation": "", "share": 0.94, "bytes": None, "evidence": "holders"}},
            holders=[{"share": 0.94, "bytes": 120 << 20, "owner": True, "chain": CHAIN, "rooted_ratio": 0.9, "samples": 90, "total_samples": 100}])
        cls.hostile = [site.add(300 + i, name, cause="unknown", namespace=name, stacks={("main.main", name, f"{name}/{name}.f"): 9 << 20},
                                **named_everywhere(name)) for i, name in enumerate(PAYLOADS)]
        cls.serve(cls.folder)

    def paths(self):
        return {"list": "/", "incident": f"/i/{self.second}", "flame": f"/i/{self.second}/flame", "growth": f"/i/{self.second}/flame?mode=growth",
                "compare": f"/compare?a={self.first}&b={self.second}", "choose": "/compare", "health": "/health"}

    def test_the_pictures_of_the_readme_are_of_these_pages(self):
        """OOMW_UPDATE_GOLDEN=1 takes them anew."""
        readme = fileio.read(os.path.join(tools.TREE, "README.md"))
        for name, size, path, ready in (("page-incident", (1200, 1020), f"/i/{self.second}", "document.querySelector('svg.timeline')"),
                                        ("page-flame", (1200, 530), f"/i/{self.second}/flame", "document.querySelector('canvas').dataset.drawn > 5")):
            self.browser.size(*size)
            self.open(path, ready)
            self.shoot(name)
            picture = os.path.join(tools.TREE, f"docs/img/{name}.png")
            if os.environ.get("OOMW_UPDATE_GOLDEN"):
                shutil.copy(os.path.join(SHOTS, f"{name}.png"), picture)
            self.assertIn(f"](docs/img/{name}.png)", readme)
            data = fileio.read_bytes(picture)
            self.assertEqual(struct.unpack(">II", data[16:24]), size)
            self.assertLess(len(data), 150 << 10)

    def test_every_page_loads_in_both_colours_and_on_a_phone(self):
        for name, path in self.paths().items():
            self.check_every_look(name, lambda path=path: self.open(path))

    def test_the_list_answers_filters_that_the_address_keeps(self):
        self.open("/", "document.querySelector('#results').dataset.matched")
        self.assertIn(f"{3 + len(PAYLOADS)} of {3 + len(PAYLOADS)} incidents", self.text())
        self.assertIn("×2", self.text())  # two of one workload in a row
        self.assertEqual(self.text("nav").split(), ["Incidents", "Health"])  # nothing that only a daemon knows
        self.browser.click(".chips button:nth-of-type(1)")
        self.browser.wait("location.search.includes('cause=')")
        self.browser.type("#q", "search-0")
        self.browser.wait("location.search.includes('q=search-0')")
        self.open("/?cause=spike", "document.querySelector('#results').dataset.matched === '1'")
        self.assertEqual(self.browser.run("document.querySelector('.chip[aria-pressed=true]').textContent"), "spike 1")
        self.open("/?namespace=find", "document.querySelector('#results').dataset.matched === '1'")
        self.browser.click("#results a")
        self.browser.wait(f"location.pathname === '/i/{self.other}'")

    def test_filters_of_a_link_are_seen_and_can_be_taken_away(self):
        self.open("/?pod=search&container=web&since=20000d&cause=leak", "document.querySelector('#results').dataset.matched === '0'")
        self.assertEqual(self.browser.run("document.querySelector('#since').value"), "20000d")
        self.assertEqual(self.browser.run("document.querySelector('.chip[aria-pressed=true]').textContent"), "leak 0")
        self.assertEqual(self.browser.run("[...document.querySelectorAll('[aria-label=\"Filters of the link\"] button')].map((e) => e.textContent)"), ["pod: search ×", "container: web ×"])
        self.browser.click(".chip[aria-pressed=true]")
        self.browser.wait("document.querySelector('#results').dataset.matched === '1'")
        self.browser.click(".chip[aria-label='Without the filter pod search']")
        self.browser.wait("document.querySelector('#results').dataset.matched === '3'")
        self.assertEqual(self.browser.run("location.search"), "?container=web&since=20000d&group=1")

    def test_a_key_on_a_chip_or_a_choice_leaves_the_focus_there(self):
        self.open("/", "document.querySelector('.chip')")
        self.browser.type(".chip[data-key=leak]", "\ue007")  # Enter
        self.browser.wait("document.activeElement.getAttribute('aria-pressed') === 'true'")
        self.assertEqual(self.text(":focus"), "leak 2")
        self.open(f"/i/{self.second}/flame", "document.querySelector('canvas').dataset.drawn > 5")
        self.browser.run("((e) => { e.focus(); e.value = 'package'; e.dispatchEvent(new Event('change')); })(document.querySelector('#flame-by'))")
        self.browser.wait("!document.querySelector('p.note[role=status]').textContent.startsWith('Reading')")
        self.assertEqual(self.browser.run("[document.activeElement.id, document.activeElement.value]"), ["flame-by", "package"])

    def test_two_incidents_are_chosen_where_the_address_names_none(self):
        self.open("/compare")
        self.assertEqual(self.browser.run("[...document.querySelectorAll('select')].map((e) => e.value)"), [self.hostile[-2], self.hostile[-1]])
        self.open(f"/compare?b={self.second}")
        self.browser.run(f"((e) => {{ e.value = '{self.first}'; }})(document.querySelector('#earlier'))")
        self.browser.click("form button")
        self.browser.wait("document.querySelector('canvas') && document.querySelector('canvas').dataset.drawn > 0")
        self.assertEqual(self.browser.run("location.search"), f"?a={self.first}&b={self.second}")

    def test_more_rows_come_when_asked_for(self):
        self.open("/?limit=2&group=0", "document.querySelectorAll('#results tbody tr').length === 2")
        self.assertIn("the newest 2 rows", self.text())
        self.browser.click("#results > button")
        self.browser.wait("document.querySelectorAll('#results tbody tr').length === 4")
        self.assertEqual(self.browser.run("location.search"), "?group=0&limit=4")
        self.open("/?group=0", f"document.querySelectorAll('#results tbody tr').length === {3 + len(PAYLOADS)}")
        self.assertFalse(self.browser.run("document.querySelector('#results > button')"))

    def test_an_age_is_that_of_the_command_line(self):
        self.open("/", "document.querySelector('#results').dataset.matched")
        for seconds, wanted in ((3, "just now"), (119, "119 s ago"), (7190, "119 min ago"), (172790, "47 h ago"), (5 * 86400 - 60, "4 d ago")):
            self.browser.run("import('/assets/format.js').then(({ age }) => { document.title = age(new Date(Date.now() - arguments[0] * 1000).toISOString()); })", seconds)
            self.browser.wait(f"document.title === '{wanted}'")

    def test_the_answer_stands_first_on_an_incident(self):
        self.open(f"/i/{self.second}")
        text = self.text()
        self.assertLess(text.index("sessions of checkout are never removed"), text.index("Captures"))
        for part in ("Code: example.com/shop/store.(*Session).Keep (store.go:44) allocates 86 % (80.0 MiB), for endpoint main.(*Shop).checkout", "Give sessions an end", "registry.example/shop:1.4.2", "Other kills of this workload", "capture-02-at_kill.pb.gz"):
            self.assertIn(part, text)

    def test_who_keeps_it_is_one_line_of_links(self):
        self.open(f"/i/{self.other}")
        text = self.text()
        for part in ("Code: index.terms keeps 94 %\n", "Path: index.terms -> map[string]*term.posts -> []post\n", "94 %: index.terms -> map[string]*term.posts -> []post"):
            self.assertIn(part, text)

    def test_what_the_memory_was_is_a_bar_and_a_table_of_its_parts(self):
        self.open(f"/i/{self.second}")
        shares = self.browser.run("[...document.querySelectorAll('.segment')].map((e) => Number(e.style.flexGrow))")
        self.assertAlmostEqual(sum(shares), 1, delta=0.001)
        rows = self.browser.run("""[...document.querySelectorAll('table')].find((t) => t.caption.textContent === 'Parts of the memory')
          .querySelectorAll('tbody tr').values().map((row) => row.cells[0].textContent).toArray()""")
        self.assertEqual(len(rows), len(shares))
        self.assertEqual(rows[0], "go heap other")

    def test_the_steps_of_the_report_are_copied(self):
        self.browser.command("Browser.grantPermissions", {"origin": self.origin, "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
        self.open(f"/i/{self.second}")
        place = self.directory_of(self.second)
        self.assertIn(f"What grew, by function (in {place}):", self.text())
        commands = self.browser.run("[...document.querySelectorAll('.command code')].map((e) => e.textContent)")
        for step in ("oomwitness diff capture-01-live.pb.gz capture-02-at_kill.pb.gz", f"oomwitness show {place} --full"):
            number = commands.index(step)
            self.browser.run("(document.querySelectorAll('.command button')[arguments[0]].id = 'step')", number)
            self.browser.type("#step", "\ue007")
            self.browser.wait("document.querySelector('#step').textContent === 'Copied'")
            self.browser.run("navigator.clipboard.readText().then((text) => { document.title = text; })")
            self.browser.wait(f"document.title === '{step}'")
            self.browser.run("document.querySelector('#step').removeAttribute('id')")

    def directory_of(self, incident):
        with urllib.request.urlopen(f"{self.origin}/api/v1/incidents/{incident}/context") as answer:
            return json.load(answer)["directory"]

    def test_what_grew_it_is_a_table_with_its_flame_graph(self):
        self.open(f"/i/{self.second}")
        rows = self.browser.run("""[...document.querySelectorAll('table')].find((t) => t.caption && t.caption.textContent === 'What grew it')
          .querySelectorAll('tbody tr').values().map((row) => [...row.cells].map((c) => c.textContent)).toArray()""")
        self.assertEqual(rows, [["example.com/shop/store.(*Session).Keep (store.go:44)", "main.(*Shop).checkout", "all the time", "32.0 MiB", "50 %"],
                                ["main.(*Cart).Add", "main.(*Shop).checkout", "one-off", "16.0 MiB", "25 %"],
                                ["threads of a garbage collector", "–", "–", "1.00 MiB", "1.6 %"]])
        self.assertIn("64.0 MiB in 2048 samples, 3 lost", self.text())
        self.open(f"/i/{self.second}/flame?capture=growth.pb.gz", "document.querySelector('canvas').dataset.drawn > 5")
        self.assertEqual(self.browser.run("document.querySelector('#flame-capture').value"), "growth.pb.gz")
        self.assertEqual(self.browser.run("document.querySelector('canvas').getAttribute('aria-label').includes('89.0 MiB')"), True)
        self.open(f"/i/{self.first}")
        self.assertNotIn("What grew it", self.text())

    def test_what_fills_a_program_without_a_heap_profile_is_drawn_by_type_and_compared(self):
        self.open(f"/i/{self.first}")
        self.browser.click("a[href$='flame?capture=contents.pb.gz']")
        self.browser.wait("document.querySelector('canvas') && document.querySelector('canvas').dataset.drawn > 2")
        self.assertIn("bytes by type, 69.0 MiB", self.browser.run("document.querySelector('canvas').getAttribute('aria-label')"))
        self.assertEqual(self.browser.run("[...document.querySelector('#flame-type').options].map((o) => o.textContent)"), ["objects", "bytes by type"])
        self.open(f"/i/{self.first}")
        self.browser.click("a[href*='contents.pb.gz&mode=growth']")
        self.browser.wait("document.querySelector('[role=status]').textContent.includes('Compared with contents-before.pb.gz')")

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
        self.assertEqual(self.browser.run("document.querySelectorAll('svg.timeline polyline.usage').length"), 2)  # a gap between, and none where an idle container was read each 10 s

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

    def take_a_phone(self):
        self.browser.size(390, 844)
        self.browser.handheld(True)
        self.addCleanup(self.browser.handheld, False)

    def test_fingers_select_zoom_and_move_a_flame_graph(self):
        self.take_a_phone()
        self.open(f"/i/{self.second}/flame", "document.querySelector('canvas').dataset.drawn > 5")
        self.assertIn("pinch to zoom", self.text())
        left, top, width, _ = self.browser.box("canvas")
        row = [(left + width / 2, top + 30)]  # the second: main.main
        self.browser.touch(row)
        self.browser.wait("document.querySelector('.tip').textContent.startsWith('main.main: 89.0 MiB')")
        self.assertEqual(self.browser.run("location.hash"), "", "the first tap only selects")
        self.browser.touch(row)
        self.browser.wait("location.hash === '#zoom=0'")
        self.browser.click(".filters button")
        self.assertEqual(self.browser.run("location.hash"), "")
        start, span = self.flame_view()
        middle = left + width / 2
        self.browser.touch([(middle - 20, top + 50), (middle - 40, top + 50), (middle - 80, top + 50)],
                           [(middle + 20, top + 50), (middle + 40, top + 50), (middle + 80, top + 50)])
        self.browser.wait(f"document.querySelector('canvas').dataset.span < {span} * 0.26")
        near, closer = self.flame_view()
        self.assertAlmostEqual(closer / span, 0.25, delta=0.01)
        self.assertAlmostEqual((near + closer / 2) / span, (start + span / 2) / span, delta=0.01, msg="what was between the fingers stays there")
        self.assertRegex(self.browser.run("location.hash"), r"^#zoom=0\.0")  # the smallest frame around what is seen
        self.browser.touch([(middle, top + 50), (middle + 30, top + 50), (middle + width / 4, top + 50)])
        self.browser.wait(f"document.querySelector('canvas').dataset.left < {near} - {closer} / 5")
        self.assertAlmostEqual((near - self.flame_view()[0]) / closer, 0.25, delta=0.01)
        self.shoot("flame-pinched-390-light")
        self.browser.size(390, 300)  # so that there is something to scroll
        _, top, _, height = self.browser.box("canvas")
        before = self.browser.run("scrollY")
        self.browser.touch([(middle, top + height / 2 - 20 * step) for step in range(5)])
        self.browser.wait(f"scrollY > {before}")  # up and down stay the page's
        self.assertEqual(self.flame_view()[1], closer)

    def flame_view(self):
        return self.browser.run("(({ left, span }) => [Number(left), Number(span)])(document.querySelector('canvas').dataset)")

    def test_fingers_read_zoom_and_move_the_timeline(self):
        self.take_a_phone()
        self.open(f"/i/{self.second}")
        self.assertIn("Pinch to zoom", self.text(".readout"))
        left, top, width, _ = self.browser.box("svg.timeline")
        whole = self.time_range()
        x, y = left + width * 0.7, top + 100
        self.browser.touch([(x, y)])
        self.browser.wait("/^[0-9.]+ s before the kill: [0-9.]+ MiB/.test(document.querySelector('.readout').textContent)")
        self.assertEqual(self.time_range(), whole, "the first tap only reads")
        self.browser.touch([(x, y)])
        self.browser.wait(f"document.querySelector('svg.timeline').dataset.range !== '{whole[0]:.3f} {whole[1]:.3f}'")
        closer = self.time_range()
        self.assertAlmostEqual((closer[1] - closer[0]) / (whole[1] - whole[0]), 0.4, delta=0.01)
        self.browser.touch([(x, y), (x + 20, y), (x + 60, y)])
        self.browser.wait(f"document.querySelector('svg.timeline').dataset.range.split(' ')[0] < {closer[0]} - 1")
        moved = self.time_range()
        self.assertAlmostEqual(moved[1] - moved[0], closer[1] - closer[0], delta=0.01)
        self.browser.touch([(x - 20, y), (x - 40, y)], [(x + 20, y), (x + 40, y)])
        self.browser.wait(f"((r) => r[1] - r[0])(document.querySelector('svg.timeline').dataset.range.split(' ')) < {moved[1] - moved[0]} * 0.6")
        self.shoot("timeline-pinched-390-light")
        smallest = "Math.min(...[...document.querySelectorAll('svg.timeline text')].map((t) => t.getBoundingClientRect().height))"
        self.assertGreaterEqual(self.browser.run(smallest), 12, "text has its size on a phone, too")
        self.browser.click("figcaption button")
        self.assertEqual(self.time_range(), whole)

    def time_range(self):
        return [float(part) for part in self.browser.run("document.querySelector('svg.timeline').dataset.range").split()]

    def test_a_flame_graph_groups_and_compares(self):
        for query, wanted in (("by=package", "example.com/shop/store"), ("by=operation", "endpoint main.(*Shop).checkout"), ("mode=growth", "Compared with capture-01-live.pb.gz")):
            with self.subTest(query=query):
                self.open(f"/i/{self.second}/flame?{query}", "document.querySelector('canvas').dataset.drawn > 0")
                self.browser.run("document.querySelector('details').open = true")
                self.assertIn(wanted, self.text())
        self.open(f"/i/{self.second}/flame", "document.querySelector('#flame-type')")
        self.browser.run("((e) => { e.value = 'inuse_objects'; e.dispatchEvent(new Event('change')); })(document.querySelector('#flame-type'))")
        self.browser.wait("document.querySelector('canvas').getAttribute('aria-label').includes('objects in use, 90.')")
        self.assertIn("type=inuse_objects", self.browser.run("location.search"))
        self.open(f"/i/{self.second}/diff", "document.querySelector('canvas').dataset.drawn > 0")
        self.assertTrue(self.browser.run("location.href").endswith("/flame?mode=diff"))
        self.assertEqual(self.browser.run("document.querySelector('#flame-mode').value"), "diff")
        self.assertIn("Red grew, blue shrank.", self.text())
        self.open(f"/compare?a={self.first}&b={self.second}", "document.querySelector('canvas').dataset.drawn > 0")
        self.assertIn("store.(*Session).Keep", self.text())

    def test_names_of_every_kind_stay_text(self):
        for name, incident in zip(PAYLOADS, self.hostile):
            for path in (f"/i/{incident}", f"/i/{incident}/flame", f"/compare?a={self.first}&b={incident}"):
                self.open(path, "document.querySelector('canvas, svg.timeline')")
                self.browser.run("document.querySelectorAll('details').forEach((e) => { e.open = true; })")
                self.browser.wait(f"document.querySelector('#main').textContent.replace(/\\s+/g, ' ').includes({visible(name)!r})")
                self.assertEqual(self.browser.run("document.querySelectorAll('#main :is(script, img, style, iframe, [onerror], [onload])').length"), 0)
        self.open("/", "document.querySelector('#results').dataset.matched")
        self.assertEqual(self.browser.run("document.querySelectorAll('#main :is(script, img, svg)').length"), 0)

    def test_a_filter_holds_names_of_every_kind(self):
        for name, incident in zip(PAYLOADS, self.hostile):
            query = urllib.parse.urlencode({"namespace": name})
            with urllib.request.urlopen(f"{self.origin}/api/v1/incidents?{query}") as answer:
                self.assertEqual(answer.headers.get_content_type(), "application/json")
                self.assertIsNone(answer.headers["X-Injected"])
                listed = json.load(answer)["incidents"]
            self.assertIn(incident, [one["id"] for one in listed], name)
            self.open(f"/?{query}", "document.querySelector('#results').dataset.matched >= 1")

    def test_no_name_steers_a_terminal(self):
        for incident in self.hostile:
            shown = on_terminal("show", incident, "--data-dir", self.folder)
            self.assertIn("What to do: ", shown)
            self.assertEqual(controls_in(shown), [])
        for form in ("table", "wide", "json"):
            listed = on_terminal("incidents", "-o", form, "--data-dir", self.folder)
            self.assertIn(self.hostile[0][-8:], listed)
            self.assertEqual(controls_in(listed), [])

    def test_what_is_not_there_says_so(self):
        for path, wanted in (("/i/20260101T000000Z-00000000", "no such incident"), (f"/i/{self.other}/flame", "no profile"), ("/now", "no daemon runs here")):
            self.browser.open(self.origin + path)
            eventually(lambda: wanted in self.text(), lambda: f"{wanted!r} in {self.text()}", 20)

    def test_the_api_gives_the_same_as_json(self):
        with urllib.request.urlopen(f"{self.origin}/api/v1/incidents/{self.second}/flame?by=package") as answer:
            flame = json.load(answer)["flame"]
        self.assertEqual(flame["total"], 90 << 20)
        self.assertEqual(flame["frames"][0][:4], [0, -1, 0, 90 << 20])


class OtherProgramsTest(SiteCase):
    """Incidents of one workload of which different things were read."""
    @classmethod
    def prepare(cls):
        site = Site(cls.folder)
        cls.typed = site.add(60, "job-0", with_profiles=False, growth=growth("sessions.py:15"), **contents("contents.pb.gz", "contents-before.pb.gz"))
        cls.once = site.add(120, "job-0", with_profiles=False, **contents("contents.pb.gz"))
        cls.native = site.add(180, "job-0", with_profiles=False, growth=growth("main"))
        cls.bare = site.add(240, "job-0", with_profiles=False)
        places = [{"count": 9, "state": "waiting", "stack": ["main.serve"]}]
        cls.healthy = site.add(300, "api-0", goroutines=places, trend=trend("not_called", "not_called"))
        cls.leaky = site.add(360, "api-0", goroutines=[{**places[0], "count": 100}], trend=trend("leak", "not_called"))
        cls.serve(cls.folder)

    def test_a_button_leads_to_a_graph_and_a_sentence_says_why_one_is_missing(self):
        no_graph, no_growth = "No flame graph: neither a heap nor contents were read.", "No graph of what grew: there is no earlier reading, and growth was not sampled."
        for incident, wanted, missing in ((self.typed, {"Flame graph": "/flame", "What grew": "/flame?mode=growth"}, []), (self.once, {"Flame graph": "/flame"}, [no_growth]),
                                          (self.native, {"What grew": "/flame?capture=growth.pb.gz"}, [no_graph]), (self.bare, {}, [no_graph, no_growth]),
                                          (self.leaky, {"Flame graph": "/flame", "What grew": "/flame?mode=growth"}, [])):
            self.open(f"/i/{incident}")
            buttons = self.browser.run("Object.fromEntries([...document.querySelectorAll('.links .button')].map((e) => [e.textContent, e.getAttribute('href')]))")
            self.assertEqual(buttons.pop("Download all"), f"/i/{incident}.tar.gz")
            self.assertEqual(buttons, {name: f"/i/{incident}{path}" for name, path in wanted.items()})
            self.assertEqual([said for said in (no_graph, no_growth) if said in self.text()], missing)
            for path in buttons.values():
                self.open(path, "document.querySelector('canvas').dataset.drawn > 1")
            if "Flame graph" in buttons:
                self.open(buttons["Flame graph"], "document.querySelector('canvas').dataset.drawn > 1")
                self.assertEqual(self.browser.run("document.querySelector('#flame-mode') !== null"), not missing, "it is offered to compare")

    def test_incidents_are_compared_where_both_have_a_profile_of_one_kind(self):
        for incident, others in ((self.once, [self.typed]), (self.native, []), (self.leaky, [self.healthy])):
            self.open(f"/i/{incident}")
            self.assertIn("Other kills of this workload", self.text())
            links = self.browser.run("[...document.querySelectorAll('a[href^=\"/compare\"]')].map((e) => e.getAttribute('href'))")
            self.assertEqual(links, [f"/compare?a={other}&b={incident}" for other in others])
            for link in links:
                self.open(link, "document.querySelector('[role=status]').textContent.includes('Compared with incident')")

    def test_what_says_nothing_is_left_out(self):
        self.open(f"/i/{self.healthy}")
        for title in ("Goroutines", "Call sites over time"):
            self.assertNotIn(title, self.text())
        self.open(f"/i/{self.leaky}")
        for part in ("Goroutines", "Call sites over time", "main.site0", "Call sites that grew but are not shown to leak: 1"):
            self.assertIn(part, self.text())
        self.assertNotIn("main.site1", self.text())
