# SPDX-License-Identifier: Apache-2.0
"""The pages beside a running daemon: a process of their own, which costs nothing while nobody looks."""
import json
import os
import re
import urllib.error
import urllib.request

from harness.case import E2eTest
from harness.daemon import free_port
from harness.wait import eventually
from test_reader import MIB, readers_of, status_bytes


class WebPages(E2eTest):
    def start_site(self):
        self.port = free_port()
        return self.daemon(args=["--web-listen", f"127.0.0.1:{self.port}"])

    def get(self, path, host=None):
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", headers={"Host": host} if host else {})
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.load(answer)

    def test_a_kill_is_on_the_page_and_the_daemon_stays_as_it_was(self):
        witness, box = self.start_site(), self.cgroup("web", 64)
        self.assertEqual(self.processes_of(witness), [])  # nobody looked yet
        self.leaky_go(box, "-rate", "100").wait_killed()
        incident, = self.wait_incidents(witness, 1)
        before = status_bytes(witness.pid, "VmRSS")
        listed = self.get("/api/v1/incidents")["incidents"]
        self.assertIn(incident["id"], [one["id"] for one in listed])  # others may be killed on this machine
        one = self.get(f"/api/v1/incidents/{incident['id']}")
        self.assertEqual(one["limit"]["bytes"], 64 * MIB)
        with self.subTest("a profile is parsed elsewhere"):
            profiles = [c for c in one["captures"] if c["result"] == "ok" and c["file"]]
            if profiles:
                flame = self.get(f"/api/v1/incidents/{incident['id']}/flame")["flame"]
                self.assertRegex(json.dumps(flame["names"]), "main")
        # The incident is on disk before the daemon counts it, and its figures are as old as its last snapshot.
        eventually(lambda: (self.get("/api/v1/health")["daemon"] or {}).get("incidents", {}).get("written"), "counted as written")
        self.assertIn("containers", self.get("/api/v1/now"))
        for _ in range(50):
            self.get("/api/v1/incidents")
        grown = status_bytes(witness.pid, "VmRSS") - before
        print(f"daemon {before / MIB:.1f} MiB, grown by {grown / MIB:.2f} MiB")
        self.assertLess(grown, 4 * MIB)  # it may write a revision meanwhile
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.get("/api/v1/incidents", host="evil.example")
        self.assertEqual(refused.exception.code, 403)

    def test_the_process_has_no_privileges_and_ends_with_the_daemon(self):
        witness = self.start_site()
        self.get("/api/v1/incidents")
        pids = self.processes_of(witness)
        self.assertEqual(len(pids), 1)
        with open(f"/proc/{pids[0]}/status") as file:
            status = file.read()
        self.assertEqual(re.findall(r"CapEff:\t(\w+)", status), ["0" * 16])
        self.assertIn("NoNewPrivs:\t1", status)
        self.assertEqual(witness.stop(), 0)
        eventually(lambda: not os.path.exists(f"/proc/{pids[0]}"), "the process ends with its daemon")

    def test_a_process_that_is_killed_comes_back(self):
        witness = self.start_site()
        self.get("/api/v1/incidents")
        os.kill(self.processes_of(witness)[0], 9)

        def answers():
            try:
                return self.get("/api/v1/health")["daemon"] is not None
            except OSError:  # a connection that the process had accepted
                return False
        eventually(answers, "a new process answers")

    @classmethod
    def processes_of(cls, witness):
        """Those of the pages; who inspects executables is a child of the daemon as well."""
        return [pid for pid in readers_of(witness) if cls.is_of_the_pages(pid)]

    @staticmethod
    def is_of_the_pages(pid):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                return b"web-process" in file.read()
        except (FileNotFoundError, ProcessLookupError):
            return False
