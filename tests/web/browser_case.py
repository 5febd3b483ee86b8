# SPDX-License-Identifier: Apache-2.0
"""The base of every test in a browser, and what every page must hold."""
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))

from harness import tools  # noqa: E402
from webdriver import PAGE_READY, Browser, need_browser  # noqa: E402

SHOTS = os.path.join(tools.TREE, "build/web-screenshots")

# What axe calls "label", "button-name", "link-name", "image-alt", "duplicate-id", "heading-order", "html-has-lang", "document-title",
# "landmark-one-main", "tabindex", "aria-hidden-focus", "scrollable-region-focusable" and "target-size" (of controls, 24 pixels);
# a table that is read aloud whenever it changes, and a short word in one that is broken in two.
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
  if (!document.title) faults.push('no title');
  if (document.querySelectorAll('main').length !== 1) faults.push('main: ' + document.querySelectorAll('main').length);
  for (const e of document.querySelectorAll('img')) if (!e.hasAttribute('alt')) faults.push('no alt: ' + e.outerHTML.slice(0, 80));
  let level = 0;
  for (const e of document.querySelectorAll('h1, h2, h3, h4, h5, h6')) {
    if (Number(e.tagName[1]) > level + 1) faults.push('heading skips a level: ' + e.textContent);
    level = Number(e.tagName[1]);
  }
  for (const e of document.querySelectorAll('[tabindex]')) if (e.tabIndex > 0) faults.push('tab order: ' + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll('[aria-hidden=true]')) if (e.querySelector('a[href], button, input, select, [tabindex]')) faults.push('hidden focus: ' + e.outerHTML.slice(0, 80));
  for (const e of document.querySelectorAll('main *')) {
    const scrolls = /auto|scroll/.test(getComputedStyle(e).overflowX) && e.scrollWidth > e.clientWidth;
    if (scrolls && e.tabIndex < 0 && !e.querySelector('a[href], button')) faults.push('scrolls without a keyboard: ' + e.outerHTML.slice(0, 80));
  }
  for (const e of document.querySelectorAll('button, select, input:not([type=checkbox])')) {
    const box = e.getBoundingClientRect();
    if (e.checkVisibility() && Math.min(box.width, box.height) < 24) faults.push('small: ' + e.outerHTML.slice(0, 80));
  }
  for (const e of document.querySelectorAll('[aria-live=polite], [role=status]')) if (e.querySelector('table')) faults.push('a table is read aloud');
  for (const e of document.querySelectorAll('th, td')) {
    const range = document.createRange();
    range.selectNodeContents(e);
    const lines = new Set([...range.getClientRects()].map((box) => Math.round(box.top)));
    if (e.childElementCount === 0 && /^\\w{2,16}$/.test(e.textContent) && lines.size > 1) faults.push('broken word: ' + e.textContent);
  }
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


class BrowserCase(unittest.TestCase):
    """One browser and one folder for all tests of a class, which prepare() fills."""
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
        os.makedirs(SHOTS, exist_ok=True)
        cls.prepare()

    @classmethod
    def prepare(cls):
        pass

    def setUp(self):
        if self.skipped:
            self.skipTest(self.skipped)
        super().setUp()
        self.browser.size(1280, 900)
        self.browser.colours("light")

    def load(self, url, origin, ready=PAGE_READY, then="true"):
        """Opens it and checks what holds for every page: no error, nothing refused, no request beyond `origin`, no foreign script."""
        self.browser.log()
        self.browser.requests()
        self.browser.open(url, ready)
        self.browser.wait(then)
        self.assertEqual(self.browser.log(), [], url)
        self.assertEqual([found for found in self.browser.requests() if not found.startswith((origin, "data:", "about:"))], [], url)
        self.assertIsNone(self.browser.run("window.owned"), url)

    def assert_readable(self, what):
        self.assertEqual(self.browser.run(LABELS), [], what)
        self.assertEqual(self.browser.run(CONTRAST), [], what)

    def check_every_look(self, name, open_page):
        """As wide as a desk and as a phone, in light and in dark."""
        for width in (1280, 390):
            for scheme in ("light", "dark"):
                with self.subTest(page=name, width=width, scheme=scheme):
                    self.browser.size(width, 900 if width > 400 else 844)
                    self.browser.colours(scheme)
                    open_page()
                    self.shoot(f"{name}-{width}-{scheme}")
                    self.assert_readable(name)
                    wide = self.browser.run("document.documentElement.scrollWidth")
                    self.assertLessEqual(wide, width, f"the page scrolls sideways: {self.browser.run(TOO_WIDE, width)}")

    def shoot(self, name):
        self.browser.screenshot(os.path.join(SHOTS, name + ".png"))

    def text(self, selector="#main"):
        return self.browser.run("document.querySelector(arguments[0]).innerText", selector)
