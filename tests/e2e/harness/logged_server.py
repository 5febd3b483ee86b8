# SPDX-License-Identifier: Apache-2.0
"""A server on loopback that says in its output when it is ready."""
import subprocess

from .wait import eventually


class LoggedServer:
    """`output`: the file for all it prints; is_ready(text) asks whether it serves; `name`: in the error if it does not."""

    def __init__(self, argv, output, is_ready, name, seconds, env=None):
        self.output = output
        with open(output, "wb") as file:
            self.process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
        try:
            eventually(lambda: is_ready(self.text()), lambda: f"{name}; {self.text()[-2000:]}", seconds)
        except BaseException:
            self.close()
            raise

    def text(self):
        with open(self.output, encoding="utf-8", errors="replace") as f:
            return f.read()

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
