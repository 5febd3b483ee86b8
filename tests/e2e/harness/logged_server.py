# SPDX-License-Identifier: Apache-2.0
"""Programs whose output goes into a file, and servers on loopback that say in theirs when they are ready."""
import subprocess

from . import fileio
from .wait import eventually


class LoggedProgram:
    """Runs until close(); `output`: the file for all it prints."""

    def __init__(self, argv, output, env=None):
        self.output = output
        with open(output, "wb") as file:
            self.process = subprocess.Popen(argv, env=env, stdin=subprocess.DEVNULL, stdout=file, stderr=file)

    def text(self):
        return fileio.read(self.output, errors="replace")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


class LoggedServer(LoggedProgram):
    """is_ready(text) asks whether it serves; `name`: in the error if it does not."""

    def __init__(self, argv, output, is_ready, name, seconds, env=None):
        super().__init__(argv, output, env)
        try:
            eventually(lambda: is_ready(self.text()), lambda: f"{name}; {self.text()[-2000:]}", seconds)
        except BaseException:
            self.close()
            raise
