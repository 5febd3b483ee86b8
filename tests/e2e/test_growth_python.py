# SPDX-License-Identifier: Apache-2.0
"""Services in Python of whose endpoints one never gives back: its holder, its function and itself are named."""
import http.client
import os
import platform
import time
import unittest

from harness import fileio, tools
from harness.case import E2eTest, judged
from harness.daemon import free_port, run_cli, run_program
from harness.debian_root import entering, make_folder, root_of
from harness.wait import eventually

PYTHON = "/usr/bin/python3"
SERVICES = os.path.join(tools.WORKLOADS, "python", "services")
GROWTH = "[growth]\nenabled = true\n"
LEAK = "/api/reports/generate"
OTHERS = ("/api/reports/count", "/api/customers", "/api/totals", "/health")


class Client:
    """Asks one endpoint after the other, each as often, until the service is gone."""

    def __init__(self, port):
        self.port = port

    def get(self, path):
        client = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            client.request("GET", path)
            return client.getresponse().read()
        except (OSError, http.client.HTTPException):
            return None
        finally:
            client.close()

    def ask_until_gone(self, work, per_second):
        for turn in range(4000):
            began = time.monotonic()
            self.get(OTHERS[turn % len(OTHERS)])
            self.get(LEAK)
            if not work.is_alive():
                return
            time.sleep(max(0, 1 / per_second + began - time.monotonic()))


@unittest.skipUnless(platform.machine() == "x86_64", "growth is sampled on x86-64 only")
@unittest.skipUnless(os.path.exists(PYTHON), f"there is no {PYTHON}")
class SeedCase(E2eTest):
    def assert_named(self, script, module, function, endpoint):
        witness = self.daemon(GROWTH)
        box = self.cgroup(script.split("_")[0], 96)
        port = free_port()
        service = self.start([PYTHON, os.path.join(SERVICES, script), str(port)], box, own_netns=False)
        client = Client(port)
        eventually(lambda: client.get("/health"), lambda: f"{script} answers: {service.describe()}", 30)
        client.ask_until_gone(service, 80)
        service.wait_killed()
        wanted = (f"`REQUEST_LOG` in module `{module}`", function, f"endpoint {endpoint}")

        def answers():
            return [i["answer"]["sentence"] for i in self.incidents_of(witness, box) if i["answer"]]

        # The first writing may be before the growth has come.
        eventually(lambda: any(all(text in answer for text in wanted) for answer in answers()),
                   lambda: f"{wanted}; have {answers()}", 20)
        incident = self.incidents_of(witness, box)[0]
        shown = run_cli("show", "--data-dir", witness.data_dir, incident["id"]).stdout
        answer = " ".join(shown.split("\n\n")[0].split())
        for text in wanted:
            self.assertIn(text, answer, shown)
        # The first writing may be before the file has come.
        with_file = lambda: [i for i in self.incidents_of(witness, box) if i.get("growth", {}).get("file")]
        path = os.path.join(incident["_dir"], eventually(with_file, "growth.pb.gz", 20)[0]["growth"]["file"])
        self.assertIn(endpoint, run_cli("top", path, "--by", "operation").stdout)

    @judged
    def test_list_function_and_endpoint_of_a_plain_http_server_are_named(self):
        self.assert_named("plain_reports.py", "__main__", "keep_rows (plain_reports.py:", "Reports.generate_report")

    @judged
    def test_list_function_and_endpoint_of_a_flask_application_are_named(self):
        self.need("flask")
        self.assert_named("flask_reports.py", "__main__", "keep_rows (flask_reports.py:", "generate_report")

    @judged
    def test_list_function_and_endpoint_of_a_django_application_are_named(self):
        self.need("django")
        self.assert_named("django_reports.py", "reports.views", "keep_rows (views.py:", "generate_report")

    def need(self, package):
        if run_program(PYTHON, "-c", f"import {package}").returncode != 0:
            self.skipTest(f"{PYTHON} has no {package} (Debian: python3-{package})")


# 16 MiB a second at most, all of it through one function.
KEEPER = """import time
KEPT = []
def keep_some(count):
    KEPT.append(b"x" * count)
def main():
    while True:
        keep_some(65536)
        time.sleep(0.004)
main()
"""


@unittest.skipUnless(platform.machine() == "x86_64", "growth is sampled on x86-64 only")
class Interpreters(E2eTest):
    @judged
    def test_function_is_named_whatever_the_version(self):
        """All at once: CPython 3.8 to 3.13, as many of them as are here."""
        pythons = tools.pythons(range(8, 14))
        if not pythons:
            self.skipTest("there is no Python of 3.8 to 3.13")
        witness = self.daemon(GROWTH)
        script = os.path.join(self.scratch, "keeper.py")
        fileio.write(script, KEEPER)
        boxes = {minor: self.cgroup(f"python3_{minor}", 64) for minor in pythons}
        for victim in [self.start([pythons[minor], script], boxes[minor]) for minor in pythons]:
            victim.wait_killed()
        for minor, box in boxes.items():
            self.assert_named(witness, minor, box)

    @judged
    def test_function_is_named_in_the_pythons_of_debians_next_releases(self):
        """Stripped as Debian ships them: of 3.14, all of the evaluation loop lies in a part without a symbol."""
        roots = {13: root_of("trixie"), 14: root_of("sid")}
        witness = self.daemon(GROWTH)
        boxes = {minor: self.cgroup(f"debian3_{minor}", 64) for minor in roots}
        victims = []
        for minor, root in roots.items():
            tools.read_ahead(os.path.join(root, f"usr/lib/python3.{minor}"))
            tools.read_ahead(os.path.join(root, f"usr/bin/python3.{minor}"))
            folder = os.path.join(self.scratch, f"3.{minor}")
            fileio.write(os.path.join(make_folder(folder), "keeper.py"), KEEPER)
            command, env = entering(root, folder, [f"/usr/bin/python3.{minor}", "/mnt/keeper.py"])
            victims.append(self.start(command, boxes[minor], env=env))
        for victim in victims:
            victim.wait_killed()
        for minor, box in boxes.items():
            self.assert_named(witness, minor, box)

    def assert_named(self, witness, minor, box):
        def places():
            return [i["growth"]["places"] for i in self.incidents_of(witness, box) if i.get("growth", {}).get("file")]

        found = eventually(places, f"a growth profile of 3.{minor}", 30)[0]
        share = sum(place["share"] for place in found if place.get("code") == "keep_some (keeper.py:4)")
        self.assertGreater(share, 0.5, f"3.{minor}: {found}")
