# SPDX-License-Identifier: Apache-2.0
"""Evidence in object storage: buckets on loopback that verify every signature, ours (harness/s3_server.py) and OpenStack
Swift."""
import glob
import json
import os
import re
import subprocess
import tarfile
import tempfile
import urllib.request

from harness import fileio, tools
from harness.daemon import evidence_files, run_cli, run_program
from harness.s3_server import S3Server, SwiftServer
from harness.wait import eventually
from test_sinks import SinkTest


class S3Test(SinkTest):
    ACCESS, SECRET = "AKIATEST", "secret/key+with=signs"

    def bucket(self, **wanted):
        return self.closing(S3Server(**wanted))

    def keys_file(self, secret=None):
        path = os.path.join(self.scratch, "keys")
        fileio.write(path, f"[default]\naws_access_key_id = {self.ACCESS}\naws_secret_access_key = {secret or self.SECRET}\n")
        return path

    def config(self, bucket, more="", keys=True):
        return (f'[sinks]\ncluster_name = "test"\n[sinks.s3]\nbucket = "evidence"\nendpoint = "{bucket.url}"\n'
                f'prefix = "oom"\n{more}' + (f'credentials_file = "{self.keys_file()}"\n' if keys else ""))

    def fetch(self, bucket, *args, secret=None, status=None):
        return run_program("env", f"AWS_ACCESS_KEY_ID={self.ACCESS}", f"AWS_SECRET_ACCESS_KEY={secret or self.SECRET}",
                           tools.BINARY, "fetch", "--bucket", "evidence", "--endpoint", bucket.url, "--prefix", "oom",
                           "--cluster", "test", *map(str, args), status=status)

    def folder_of(self, incident_id):
        path, = glob.glob(os.path.join(self.data_dir(), f"incidents/{incident_id[:16]}-*-{incident_id[-8:]}"))
        return path

    def seeded(self, count=1):
        ids = self.seed(count)
        for incident_id in ids:
            fileio.write(os.path.join(self.folder_of(incident_id), "report.md"), f"# {incident_id}\n")
        return ids

    @staticmethod
    def key_of(incident_id):
        day = f"{incident_id[:4]}-{incident_id[4:6]}-{incident_id[6:8]}"
        return f"oom/test/{day}/{incident_id}/"


class Delivered(S3Test):
    def ids_on_the_pages_of(self, folder):
        """What `oomwitness web` lists of a folder that was pulled."""
        with subprocess.Popen([tools.BINARY, "web", "--data-dir", folder, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                              stdin=subprocess.DEVNULL, text=True) as web:
            try:
                port = re.search(r"localhost:(\d+)/", web.stdout.readline())[1]
                with urllib.request.urlopen(f"http://localhost:{port}/api/v1/incidents", timeout=60) as answer:
                    return [incident["id"] for incident in json.load(answer)["incidents"]]
            finally:
                web.terminate()

    def test_a_kills_report_names_where_its_files_are(self):
        bucket = self.bucket()
        witness = self.daemon(self.config(bucket))
        self.memhog(self.cgroup("copied", 32), "--rate-mb-s", "200").wait_killed()
        incident, = self.wait_incidents(witness, 1)
        key = self.key_of(incident["id"])
        eventually(lambda: key + "incident.json" in bucket.objects, lambda: f"{sorted(bucket.objects)}; {witness.log()[-2000:]}")
        self.assertIn(f"    s3://evidence/{key}\n", bucket.objects[key + "report.md"].decode())

    def test_what_is_fetched_or_exported_is_what_the_node_has(self):
        bucket = self.bucket(page=2)
        first, second = self.seeded(2)
        self.daemon(self.config(bucket))
        # Kills of other tests come to this bucket too.
        own = {self.key_of(i) + name for i in (first, second) for name in ("report.md", "incident.json")}
        eventually(lambda: own <= set(bucket.objects), lambda: f"4 objects: {sorted(bucket.objects)}")
        bucket.objects["oom/test/2026-11-24/../../etc/passwd"] = b"no"
        bucket.objects[self.key_of(first) + ".hidden"] = b"no"
        listed = [json.loads(line) for line in self.fetch(bucket, "--json").stdout.splitlines()]
        self.assertLessEqual({first, second}, {i["id"] for i in listed if i["whole"]})
        target = os.path.join(self.scratch, "pulled")
        self.fetch(bucket, first, "-o", target, status=0)
        pulled = os.path.join(target, "incidents", first)
        self.assertEqual(evidence_files(pulled), evidence_files(self.folder_of(first)))
        self.assertEqual(run_cli("show", first, "--data-dir", target).returncode, 0)
        self.assertIn(first, self.ids_on_the_pages_of(target))
        archive = os.path.join(self.scratch, "one.tar")
        self.assertEqual(run_cli("export", second, "-o", archive, "--data-dir", self.data_dir()).returncode, 0)
        with tarfile.open(archive) as tar:
            files = {m.name.partition("/")[2]: tar.extractfile(m).read() for m in tar.getmembers() if m.isfile()}
            self.assertEqual(tar.getnames()[-1], f"{second}/incident.json")
        self.assertEqual(files, evidence_files(self.folder_of(second)))
        piped = subprocess.run([tools.BINARY, "export", second, "-o", "-", "--data-dir", self.data_dir()], capture_output=True)
        self.assertEqual((piped.returncode, piped.stdout), (0, fileio.read_bytes(archive)), piped.stderr)
        absent = self.fetch(bucket, "20200101T000000Z-00000000", status=1)
        self.assertIn("no incident", absent.stderr)


class Credentials(S3Test):
    def test_a_service_accounts_role_is_assumed(self):
        bucket = self.bucket()
        bucket.keys.clear()
        bucket.tokens["projected-token"] = "arn:aws:iam::1:role/evidence"
        token = os.path.join(self.scratch, "token")
        fileio.write(token, "projected-token\n")
        incident_id, = self.seeded()
        witness = self.daemon(self.config(bucket, keys=False), prefix=[
            "env", f"AWS_WEB_IDENTITY_TOKEN_FILE={token}", "AWS_ROLE_ARN=arn:aws:iam::1:role/evidence",
            f"AWS_ENDPOINT_URL_STS={bucket.url}/sts"])
        eventually(lambda: self.key_of(incident_id) + "incident.json" in bucket.objects,
                   lambda: f"the incident; {witness.log()[-2000:]}")

    def test_a_wrong_secret_is_named_and_once_mended_nothing_was_lost(self):
        bucket = self.bucket()
        incident_id, = self.seeded()
        bucket.keys[self.ACCESS] = ("another", None)
        config = self.config(bucket)
        witness = self.daemon(config)
        self.wait_value(witness, 1, "failed_total", sink="s3", reason="forbidden")
        report = self.doctor(config)
        self.assertIn("SignatureDoesNotMatch", report)
        self.assertNotIn(self.SECRET, report + witness.log())
        bucket.keys[self.ACCESS] = (self.SECRET, None)
        eventually(lambda: self.key_of(incident_id) + "incident.json" in bucket.objects,
                   lambda: f"the incident; {witness.log()[-2000:]}")
        self.assertEqual(self.value(witness, "dead_lettered_total"), 0)


class ServerOfOthers(S3Test):
    """OpenStack Swift, where `max_bucket_listing` makes three incidents several pages."""
    ACCESS, SECRET = SwiftServer.ACCESS, SwiftServer.SECRET

    def swift(self):
        return self.closing(SwiftServer(self.scratch))

    def listed(self, bucket):
        """What is wholly there; the bucket may have kills of other tests."""
        return {i["id"] for i in map(json.loads, self.fetch(bucket, "--json").stdout.splitlines()) if i["whole"]}

    def fetched(self, bucket, incident_id):
        """The files of an incident, copied from the bucket into a folder of its own."""
        target = tempfile.mkdtemp(dir=self.scratch)
        self.assertEqual(self.fetch(bucket, incident_id, "-o", target).returncode, 0)
        return target, evidence_files(os.path.join(target, "incidents", incident_id))

    def test_a_kill_and_stored_incidents_arrive_and_are_fetched_byte_for_byte(self):
        bucket = self.swift()
        ids = self.seeded(2)
        witness = self.daemon(self.config(bucket))
        self.leaky_go(self.cgroup("copied", 48), "-rate", "100").wait_killed()
        killed, = self.wait_incidents(witness, 1)
        ids.append(killed["id"])
        eventually(lambda: self.listed(bucket) >= set(ids), lambda: f"{self.fetch(bucket)}; {witness.log()[-2000:]}", 60, 1)
        for incident_id in ids:  # of a kill, until its revisions have come
            eventually(lambda: self.fetched(bucket, incident_id)[1] == evidence_files(self.folder_of(incident_id)),
                       lambda: f"{incident_id} as on the node; {witness.log()[-2000:]}", 60, 1)
        target, files = self.fetched(bucket, killed["id"])
        self.assertIn("incident.json", files)
        self.assertTrue(any(name.startswith("capture-") for name in files), sorted(files))
        self.assertEqual(run_cli("show", killed["id"], "--data-dir", target).returncode, 0)
        self.assertEqual(self.value(witness, "dead_lettered_total"), 0)

    def test_a_wrong_secret_is_refused_and_named_and_the_right_one_delivers(self):
        bucket = self.swift()
        incident_id, = self.seeded()
        config = self.config(bucket, keys=False) + f'credentials_file = "{self.keys_file("another")}"\n'
        witness = self.daemon(config)
        self.wait_value(witness, 1, "failed_total", sink="s3", reason="forbidden")
        self.assertIn("SignatureDoesNotMatch", self.doctor(config))
        self.assertEqual(self.listed(bucket) & {incident_id}, set())
        refused = self.fetch(bucket, secret="another", status=1)
        self.assertIn("SignatureDoesNotMatch", refused.stderr)
        self.keys_file()  # the file is read again when it is needed
        eventually(lambda: incident_id in self.listed(bucket), lambda: f"the incident; {witness.log()[-2000:]}", 90, 1)
        self.assertEqual(self.value(witness, "dead_lettered_total"), 0)
