# SPDX-License-Identifier: Apache-2.0
"""OpenStack Swift on loopback, whose S3 API verifies each request's signature (tests/support/swift_s3.py). Listings have
two keys a page."""
import os
import tempfile

from . import tools
from .daemon import free_port
from .logged_server import LoggedServer


class SwiftServer(LoggedServer):
    ACCESS, SECRET, BUCKET = "test:node", "secret-of/node+1", "evidence"

    def __init__(self, scratch):
        tree = tools.supplied("fetch_programs.sh", "swift")
        folder = tempfile.mkdtemp(prefix="swift-", dir=scratch)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        environment = os.environ | {"PYTHONPATH": f"{tree}/lib/python3/dist-packages", "PYTHONDONTWRITEBYTECODE": "1",
                                    "LD_LIBRARY_PATH": f"{tree}/lib/x86_64-linux-gnu"}
        super().__init__(
            ["/usr/bin/python3", os.path.join(tools.TREE, "tests/support/swift_s3.py"), folder, str(self.port),
             self.ACCESS.partition(":")[2], self.SECRET, self.BUCKET],
            os.path.join(folder, "log"), lambda text: "ready" in text.split(), "Swift", 60, environment)
