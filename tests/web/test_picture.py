# SPDX-License-Identifier: Apache-2.0
"""The flame graph that `render` writes, opened as a file in a real browser."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

from browser_case import BrowserCase  # noqa: E402 (which sets the path of the next)
from harness import fileio, tools  # noqa: E402
from site_data import MIB, PAYLOADS, Site, profile, shop_stacks  # noqa: E402

# Frames that are shown, as [left, right, name, fill]; CSS pixels of the window.
FRAMES = """[...document.querySelectorAll('#frames > g')].filter((g) => g.style.display !== 'none').map((g) => {
  const r = g.querySelector('rect'), box = r.getBoundingClientRect();
  return [box.left, box.right, g.querySelector('title').textContent.split('\\n')[0], getComputedStyle(r).fill]; })"""
TEXT_PIXELS = """[...document.querySelectorAll('#frames text')].filter((t) => t.textContent).map((t) => t.getBoundingClientRect().height)"""


class PictureTest(BrowserCase):
    @classmethod
    def prepare(cls):
        cls.incident = Site(cls.folder).add(120, "cart-7d9f-abcde")
        cls.picture = cls.render("shop.svg", cls.incident, "--data-dir", cls.folder)

    @classmethod
    def render(cls, name, *arguments):
        target = os.path.join(cls.folder, name)
        subprocess.run([tools.BINARY, "render", *arguments, "-o", target], check=True, stdout=subprocess.DEVNULL)
        return target

    def open(self, path, fragment=""):
        url = f"file://{path}"
        self.browser.open("about:blank", "true")  # an address that differs by its fragment only is not loaded anew
        self.load(url + fragment, url, "document.querySelector('#controls') || !document.querySelector('#frames g')")

    def shown(self):
        return self.browser.run(FRAMES)

    def text(self, selector="svg"):
        return self.browser.run("document.querySelector(arguments[0]).textContent", selector)  # SVG elements have no innerText

    def test_it_fills_every_window_with_text_of_one_size(self):
        for width in (1920, 1280, 390):
            for scheme in ("light", "dark"):
                with self.subTest(width=width, scheme=scheme):
                    self.browser.size(width, 900 if width > 400 else 844)
                    self.browser.colours(scheme)
                    self.open(self.picture)
                    self.shoot(f"picture-{width}-{scheme}")
                    frames = self.shown()
                    shrunk = self.browser.run("innerWidth") / width  # 980 / 390: what a phone does to a picture
                    self.assertAlmostEqual(frames[0][0] / shrunk, 10, delta=1)
                    self.assertAlmostEqual(frames[0][1] / shrunk, width - 10, delta=2)
                    self.assertGreaterEqual(min(self.browser.run(TEXT_PIXELS)) / shrunk, 12)
                    self.assertLessEqual(self.browser.run("document.documentElement.scrollWidth") / shrunk, width)
                    words = " ".join(self.text("#head").split())
                    for part in ("shop/cart-7d9f-abcde", "container web", "limit 128 MiB", self.incident):
                        self.assertIn(part, words)

    def test_dark_frames_are_dark_and_light_ones_light(self):
        fills = {}
        for scheme in ("light", "dark"):
            self.browser.colours(scheme)
            self.open(self.picture)
            fills[scheme] = {sum(int(part) for part in fill[4:-1].split(",")) for *_, fill in self.shown()}
        self.assertGreater(min(fills["light"]), 3 * 150)
        self.assertLess(max(fills["dark"]), 3 * 110)

    def test_it_is_searched_zoomed_and_linked_to(self):
        self.open(self.picture)
        whole = len(self.shown())
        self.browser.press("/")
        self.browser.write("session")
        self.assertEqual(self.text("#matched"), "matched: 89 %")  # 80 of 90 MiB
        self.assertEqual(self.browser.run("document.querySelectorAll('#frames .found').length"), 1)
        self.browser.run("document.querySelector('#frames').focus()")
        for key in ("ArrowDown", "ArrowDown", "Enter"):
            self.browser.press(key)
        zoomed = self.browser.run("location.hash")
        self.assertEqual(zoomed, "#zoom=0.0")
        self.assertIn("net/http.(*Server).Serve", self.text("#tip"))
        names = [name for *_, name, _ in self.shown()]
        self.assertLess(len(names), whole)
        self.open(self.picture, zoomed)
        self.assertEqual([name for *_, name, _ in self.shown()], names)
        self.assertAlmostEqual(self.shown()[2][1], 1270, delta=2)
        self.browser.press("Escape")
        self.assertEqual(self.browser.run("location.hash"), "")
        self.assertEqual(len(self.shown()), whole)

    def test_a_click_or_a_tap_zooms_and_the_button_shows_all(self):
        self.open(self.picture)
        whole = len(self.shown())
        fourth = "#frames > g:nth-of-type(4) > rect"
        left, top, width, height = self.browser.box(fourth)
        for zoom in (lambda: self.browser.click(fourth), lambda: self.browser.touch([(left + width / 2, top + height / 2)])):
            zoom()
            self.browser.wait("location.hash !== ''")
            self.assertLess(len(self.shown()), whole)
            self.browser.click("#all")
            self.assertEqual(len(self.shown()), whole)

    def test_bytes_of_a_function_itself_are_shaded(self):
        path = os.path.join(self.folder, "own.pb.gz")
        fileio.write(path, profile({("main.main", "main.keep"): 3 * MIB, ("main.main", "main.keep", "main.deep"): MIB}))
        self.open(self.render("own.svg", path))
        own, whole = self.browser.run("""(() => { const shade = document.querySelector('#frames .own');
          return [shade, shade.parentElement.querySelector('rect')].map((r) => Number(r.getAttribute('width'))); })()""")
        self.assertAlmostEqual(own / whole, 0.75, delta=0.01)
        self.browser.press("/")
        self.browser.write("nothing has this name")
        self.assertEqual(self.text("#matched"), "matched: 0 %")
        self.assertEqual(self.browser.run("getComputedStyle(document.querySelector('#frames .own')).fillOpacity"), "0.1")

    def test_names_of_every_kind_stay_text(self):
        path = os.path.join(self.folder, "hostile.pb.gz")
        fileio.write(path, profile({("main.main", name): MIB for name in PAYLOADS}))
        self.open(self.render("hostile.svg", path))
        self.assertEqual(self.browser.run("document.querySelectorAll('script').length"), 1)
        self.assertEqual(self.browser.run("document.querySelectorAll('img, [onload], [onerror]').length"), 0)
        self.browser.press("/")
        self.browser.write("window.owned=1")
        self.assertGreaterEqual(self.browser.run("document.querySelectorAll('#frames .found').length"), 4)
        for i, name in enumerate(PAYLOADS):
            site = os.path.join(self.folder, f"of-payload-{i}")
            incident = Site(site).add(120, name, namespace=name)
            self.open(self.render(f"hostile-{i}.svg", incident, "--data-dir", site))
            self.assertEqual(self.browser.run("document.querySelectorAll('script').length"), 1)

    def test_a_picture_without_its_script_is_read_too(self):
        text = fileio.read(self.picture)
        bare = os.path.join(self.folder, "bare.svg")
        fileio.write(bare, text[:text.index("<script>")] + "</svg>\n")
        for width in (1280, 640):
            self.browser.size(width, 844)
            self.browser.open(f"file://{bare}", "document.querySelector('#frames')")
            self.shoot(f"picture-bare-{width}")
            self.assertGreaterEqual(min(self.browser.run(TEXT_PIXELS)), 8)
            self.assertIn("example.com/shop/store.(*Session).Keep", self.text("#frames"))

    def test_what_grew_and_nothing_at_all(self):
        for name, stacks in (("before", shop_stacks(20)), ("after", shop_stacks(80, 3))):
            fileio.write(os.path.join(self.folder, name + ".pb.gz"), profile(stacks))
        before, after = (os.path.join(self.folder, name + ".pb.gz") for name in ("before", "after"))
        self.browser.colours("dark")
        self.open(self.render("diff.svg", after, "--diff-base", before))
        self.shoot("picture-diff-dark")
        self.assertIn("all of it grew", self.text("#legend"))
        self.open(self.render("none.svg", after, "--diff-base", after))
        self.assertIn("Nothing changed", self.text())
