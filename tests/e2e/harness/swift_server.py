# SPDX-License-Identifier: Apache-2.0
"""OpenStack Swift on loopback, whose S3 API verifies each request's signature (tests/support/swift_s3.py). Listings have
two keys a page."""
import os
import subprocess
import tempfile

from . import tools
from .daemon import free_port
from .wait import eventually


class SwiftServer:
    ACCESS, SECRET, BUCKET = "test:node", "secret-of/node+1", "evidence"

    def __init__(self, scratch):
        tree = tools.supplied("fetch_programs.sh", "swift")
        folder = tempfile.mkdtemp(prefix="swift-", dir=scratch)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.output = os.path.join(folder, "log")
        environment = os.environ | {"PYTHONPATH": f"{tree}/lib/python3/dist-packages", "PYTHONDONTWRITEBYTECODE": "1",
                                    "LD_LIBRARY_PATH": f"{tree}/lib/x86_64-linux-gnu"}
        with open(self.output, "wb") as output:
            self.process = subprocess.Popen(
                ["/usr/bin/python3", os.path.join(tools.TREE, "tests/support/swift_s3.py"), folder, str(self.port),
                 self.ACCESS.partition(":")[2], self.SECRET, self.BUCKET],
                env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            eventually(lambda: "ready" in self.text().split(), lambda: f"Swift; {self.text()[-2000:]}", 60)
        except BaseException:
            self.close()
            raise

    def text(self):
        with open(self.output, encoding="utf-8", errors="replace") as f:
            return f.read()

    def close(self):
        self.process.kill()
        self.process.wait()
