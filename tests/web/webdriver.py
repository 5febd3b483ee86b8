# SPDX-License-Identifier: Apache-2.0
"""A real Chromium, driven by its driver over the WebDriver protocol, with the standard library only."""
import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request

PATIENCE_SECONDS = 60  # a loaded machine starts a browser slowly
PAGE_READY = "document.getElementById('main').dataset.ready === 'yes'"

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--no-default-browser-check",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
         "--disable-dev-shm-usage", "--hide-scrollbars"]


def need_browser():
    for program in ("chromium", "chromedriver"):
        if shutil.which(program) is None:
            raise unittest.SkipTest(f"{program} is not installed (deploy/install-deps.sh tests installs it)")


class Browser:
    """One window. log() gives what it logged since the last call: errors of the console, refused content."""

    def __init__(self):
        self._folder = tempfile.mkdtemp(prefix="oomw-chromium-")
        # A home of its own: nothing of the person who runs the tests is read or written.
        environment = dict(os.environ, HOME=self._folder)
        self._driver = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True, env=environment, start_new_session=True)
        self._session = None
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self):
        for line in self._driver.stdout:
            if found := re.search(r"on port ([1-9]\d*)", line):
                self._url = f"http://127.0.0.1:{found[1]}"
                break
        else:
            raise unittest.SkipTest("chromedriver does not start here")
        # Nobody reads further; a full pipe would stop it.
        threading.Thread(target=self._driver.stdout.read, daemon=True).start()
        wanted = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                  "goog:chromeOptions": {"binary": shutil.which("chromium"),
                                         "args": [*FLAGS, f"--user-data-dir={self._folder}/profile"]}}
        answer = self._call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self._session = answer["sessionId"]

    def _call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._url + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{method} {path}: {error.read().decode(errors='replace')[:500]}") from None

    def _in_session(self, method, path, body=None):
        return self._call(method, f"/session/{self._session}{path}", body)

    def close(self):
        if self._session:
            try:
                self._in_session("DELETE", "")
            except (OSError, RuntimeError):
                pass
        self._driver.terminate()
        self._driver.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def open(self, url, ready=PAGE_READY):
        self._in_session("POST", "/url", {"url": url})
        self.wait(ready)

    def run(self, script, *arguments):
        """The value of an expression in the page."""
        return self._in_session("POST", "/execute/sync", {"script": f"return ({script})", "args": list(arguments)})

    def wait(self, condition):
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if self.run(condition):
                return
            time.sleep(0.05)
        raise AssertionError(f"never true: {condition}\n{self.run('(document.body || document.documentElement).textContent')[:2000]}")

    def element(self, selector):
        found = self._in_session("POST", "/element", {"using": "css selector", "value": selector})
        return next(iter(found.values()))

    def click(self, selector):
        self._in_session("POST", f"/element/{self.element(selector)}/click", {})

    def type(self, selector, text):
        self._in_session("POST", f"/element/{self.element(selector)}/value", {"text": text})

    def press(self, key):
        """A key for whatever has the focus, as a keyboard sends it; the driver's own way knows no SVG documents."""
        for kind in ("keyDown", "keyUp"):
            self.command("Input.dispatchKeyEvent", {"type": kind, "key": key, "text": key if kind == "keyDown" and len(key) == 1 else ""})

    def drag(self, x, to_x, y):
        for kind, at, buttons in (("mousePressed", x, 1), ("mouseMoved", (x + to_x) / 2, 1), ("mouseMoved", to_x, 1), ("mouseReleased", to_x, 0)):
            self.command("Input.dispatchMouseEvent", {"type": kind, "x": at, "y": y, "button": "left", "buttons": buttons, "clickCount": 1})

    def touch(self, *paths):
        """A finger for each path of points (x, y) of the window: they go down, along their paths together, and up."""
        def actions(path):
            def to(point):
                return {"type": "pointerMove", "duration": 0, "x": round(point[0]), "y": round(point[1])}
            return [to(path[0]), {"type": "pointerDown", "button": 0}, *map(to, path[1:]), {"type": "pointerUp", "button": 0}]
        self._in_session("POST", "/actions", {"actions": [
            {"type": "pointer", "id": f"finger {number}", "parameters": {"pointerType": "touch"}, "actions": actions(path)}
            for number, path in enumerate(paths)]})

    def handheld(self, is_handheld):
        self.command("Emulation.setTouchEmulationEnabled", {"enabled": is_handheld, "maxTouchPoints": 5 if is_handheld else 1})

    def box(self, selector):
        """Its left, top, width and height, once it is scrolled to."""
        return self.run("((e) => { e.scrollIntoView({ block: 'center' }); const b = e.getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })"
                        "(document.querySelector(arguments[0]))", selector)

    def write(self, text):
        self.command("Input.insertText", {"text": text})

    def size(self, width, height):
        """Of the page: a window is never as narrow as a phone."""
        self.command("Emulation.setDeviceMetricsOverride",
                     {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600})

    def colours(self, scheme):
        self.command("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]})

    def command(self, name, parameters):
        return self._in_session("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def screenshot(self, path):
        shot = self.command("Page.captureScreenshot", {"format": "png", "captureBeyondViewport": False})
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def log(self):
        """Warnings and errors of the console since the last call."""
        entries = self._in_session("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] in ("WARNING", "SEVERE")]

    def requests(self):
        """The addresses asked for since the last call."""
        found = []
        for entry in self._in_session("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found
