# SPDX-License-Identifier: Apache-2.0
"""Incidents leave the node: real HTTP servers on loopback, healthy ones and others, and a daemon that is killed."""
import contextlib
import datetime
import glob
import json
import os
import shutil
import signal

from harness import fileio
from harness.api_server import make_authority, shared_authority
from harness.case import MIB, E2eTest
from harness.daemon import free_port, run_cli
from harness.process_state import status_bytes
from harness.sink_server import SinkServer, endless, hang, log_record, partial_success, status
from harness.wait import eventually

FIXTURE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../fixtures/incidents/leak_with_endpoint.json")


class SinkTest(E2eTest):
    def server(self, **wanted):
        return self.closing(SinkServer(**wanted))

    def seed(self, count, first=0):
        """Incidents on disk, as a daemon left them: of the last minutes, each with an id of its own."""
        incident = fileio.read_json(FIXTURE)
        ids = []
        for number in range(first, first + count):
            at = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=600 - number % 500)
            incident["id"] = f"{at:%Y%m%dT%H%M%SZ}-{number:08x}"
            incident["time"] = f"{at:%Y-%m-%dT%H:%M:%S}.000000000Z"
            folder = os.path.join(self.data_dir(), "incidents", f"{at:%Y%m%dT%H%M%SZ}-seeded-{number:08x}")
            os.makedirs(folder, 0o700)
            fileio.write_json(os.path.join(folder, "incident.json"), incident)
            ids.append(incident["id"])
        return ids

    def otlp(self, url, more=""):
        return f'[sinks.otlp]\nendpoint = "{url}"\n{more}'

    def value(self, witness, name, **labels):
        return sum(value for _, value in witness.scrape().values("oomwitness_sink_" + name, **labels))

    def wait_value(self, witness, wanted, name, **labels):
        eventually(lambda: self.value(witness, name, **labels) >= wanted,
                   lambda: f"{name} {labels} >= {wanted}: {self.value(witness, name, **labels)}; {witness.log()[-2000:]}")

    def doctor(self, config, *flags):
        path = os.path.join(self.scratch, "doctor.toml")
        fileio.write(path, config)
        return run_cli("doctor", "--config", path, "--data-dir", self.data_dir(), *flags).stdout


def ids_of(server):
    """In the order in which they came; each request is decoded once."""
    known = server.__dict__.setdefault("known_ids", [])
    known += [log_record(r.body)["attributes"]["oomwitness.incident.id"] for r in server.requests[len(known):]]
    return known


class Delivered(SinkTest):
    def test_a_kill_comes_to_every_sink_though_one_of_them_hangs(self):
        collector, hanging = self.server(), self.server(usual=hang)
        lines, headers = os.path.join(self.scratch, "kills.jsonl"), os.path.join(self.scratch, "headers")
        fileio.write(headers, "X-Incident: {id}, {scope}\nX-Other: {other}\n")
        witness = self.daemon(f'[sinks]\ncluster_name = "test"\n{self.otlp(collector.url)}'
                              f'[sinks.webhook]\nurl = "{hanging.url}/hook"\ncloud_events = true\nheaders_file = "{headers}"\n'
                              f'[sinks.file]\npath = "{lines}"\n')
        box = self.cgroup("sent", 32)
        hog = self.memhog(box, "--rate-mb-s", "200")
        hog.wait_killed()
        incident, = self.wait_incidents(witness, 1)
        eventually(lambda: incident["id"] in ids_of(collector), "the log record")
        request = next(r for r in collector.requests
                       if log_record(r.body)["attributes"]["oomwitness.incident.id"] == incident["id"])
        self.assertEqual((request.path, request.headers["Content-Encoding"]), ("/v1/logs", "gzip"))
        record = log_record(request.body)
        self.assertEqual((record["event_name"], record["scope"]), ("oomwitness.oom_kill", "oomwitness"))
        self.assertEqual(record["attributes"]["process.pid"], hog.pid)
        self.assertEqual(record["attributes"]["oomwitness.limit"], 32 << 20)
        self.assertEqual(record["resource"]["k8s.cluster.name"], "test")
        self.assertEqual(record["severity"], 17)
        self.assertIn("OOM kill of ", record["body"])
        eventually(lambda: hanging.requests, "the webhook")
        event = hanging.requests[0].json()
        self.assertEqual((event["specversion"], event["id"]), ("1.0", event["data"]["id"]))
        self.assertTrue(event["source"].startswith("/clusters/test"), event["source"])
        sent = hanging.requests[0].headers
        self.assertEqual((sent["X-Incident"], sent["X-Other"]), (f"{event['id']}, {event['data']['scope']}", "{other}"))
        line = eventually(lambda: self.line_of(lines, incident["id"]), "a line in the file")
        log = json.loads(line)["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
        self.assertEqual(log["eventName"], "oomwitness.oom_kill")
        self.assertIn("OOM kill of memhog", log["body"]["stringValue"])

    def line_of(self, path, incident_id):
        """Others' kills come here too."""
        if not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as f:
            return next((line for line in f if incident_id in line and line.endswith("\n")), None)


class Outage(SinkTest):
    def test_nothing_is_lost_or_renamed_by_an_outage_with_five_kills_of_the_daemon(self):
        port, expected = free_port(), []
        config = self.otlp(f"http://127.0.0.1:{port}") + "[incidents]\nkeep_count = 3\n"
        for turn in range(5):
            expected += self.seed(200, turn * 200)
            witness = self.daemon(config)
            self.wait_value(witness, 1, "failed_total", reason="connect")
            self.wait_value(witness, len(expected), "waiting")
            witness.stop(signal.SIGKILL)
        last = self.seed(1, 5000)
        server = self.server(port=port, ids=expected + last)
        witness = self.daemon(config)
        eventually(lambda: len(server.requests) >= 1001, lambda: f"1,001 delivered: {len(server.requests)}", 120)
        self.assertEqual(sorted(ids_of(server)), sorted(expected + last))
        eventually(lambda: self.value(witness, "waiting") == 0, "nothing waits")
        self.assertLess(status_bytes(witness.pid, "VmHWM"), 80 * MIB)  # at its peak, with 1,001 incidents in the queue
        # The marker of each is on disk: another start sends nothing of it again.
        witness.stop(signal.SIGKILL)
        again = self.daemon(config)
        eventually(lambda: self.value(again, "waiting") == 0, "nothing waits after another start")
        again.stop()
        self.assertEqual(len(server.requests), 1001)
        self.assert_disk_budget_is_kept()

    def assert_disk_budget_is_kept(self):
        """The sink is down once more, and more waits for it than may: the oldest are given up and make room on the disk."""
        budget, kept = 1 << 20, 3 * (16 << 10)
        self.seed(300, 6000)
        self.assertGreater(self.seeded_bytes(), budget + kept)
        config = f"[sinks]\nhold_bytes = {budget}\n" + self.otlp(f"http://127.0.0.1:{free_port()}") + "[incidents]\nkeep_count = 3\n"
        witness = self.daemon(config)
        self.wait_value(witness, 1, "dead_lettered_total", reason="bytes")
        eventually(lambda: self.seeded_bytes() <= budget + kept, lambda: f"{self.seeded_bytes()}; {witness.log()[-2000:]}")
        self.assertGreater(self.value(witness, "waiting"), 0)  # the newest still wait

    def seeded_bytes(self):
        """Kills of other tests have incidents here, too, whose files are as large as they are."""
        total = 0
        for folder, _, names in os.walk(os.path.join(self.data_dir(), "incidents")):
            for name in names if "-seeded-" in folder else ():
                with contextlib.suppress(FileNotFoundError):  # pruned meanwhile
                    total += os.lstat(os.path.join(folder, name)).st_size
        return total


class Liars(SinkTest):
    def answered(self, *answers):
        """A daemon with one incident, and what the server saw and the daemon counted."""
        server = self.server(answers=answers, ids=self.seed(1))
        config = self.otlp(server.url)
        return server, config, self.daemon(config)

    def marker(self):
        """What became of the incident that was seeded, once that is decided."""
        path, = glob.glob(os.path.join(self.data_dir(), "incidents/*-seeded-*"))
        eventually(lambda: os.path.exists(f"{path}/.delivery-otlp"), lambda: f"a marker; {self.daemons[-1].log()[-2000:]}")
        return fileio.read_json(f"{path}/.delivery-otlp")

    def test_what_is_refused_for_good_is_dead_lettered_and_named_by_doctor(self):
        for answer, reason in ((partial_success(1, "no room"), "rejected"), (status(413), "too_large"),
                               (status(302, Location="http://127.0.0.1:1/"), "redirect"), (status(500), "refused")):
            with self.subTest(reason):
                server, config, witness = self.answered(answer)
                marker = self.marker()
                self.assertEqual((marker["state"], marker["reason"], marker["sent"]), ("dead", reason, 0))
                self.wait_value(witness, 1, "dead_lettered_total", reason=reason)
                self.assertEqual(len(server.requests), 1)
                report = self.doctor(config)
                self.assertIn("1 dead-lettered", report)
                self.assertIn(reason, report)
                witness.stop()
                shutil.rmtree(self.data_dir())

    def test_what_may_pass_comes_again(self):
        server, _, witness = self.answered(status(429, Retry_After="2"), endless, status(200, b"<html>", "text/html"))
        self.assertEqual(self.marker()["state"], "sent")
        self.assertEqual(len(server.requests), 4)
        self.assertGreater(server.requests[1].at - server.requests[0].at, 1.9)
        self.wait_value(witness, 1, "failed_total", reason="rate_limited")
        self.wait_value(witness, 2, "failed_total", reason="bad_answer")
        self.assertEqual(self.value(witness, "dead_lettered_total"), 0)

    def test_a_wrong_certificate_gets_nothing_and_the_right_one_does(self):
        _, certificate, key = make_authority(self.scratch, "other")
        trusted = shared_authority()[0]
        wrong = self.server(certificate=(certificate, key))
        ids = self.seed(1)
        secret = os.path.join(self.scratch, "headers")
        fileio.write(secret, "Authorization: Bearer s3cret\n")
        more = f'ca_file = "{trusted}"\nheaders_file = "{secret}"\n'
        config = self.otlp(wrong.url, more)
        witness = self.daemon(config)
        self.wait_value(witness, 1, "failed_total", reason="tls")
        report = self.doctor(config)
        self.assertIn("tls", report)
        self.assertNotIn("s3cret", report + witness.log())
        self.assertEqual(wrong.requests, [])
        witness.stop()
        right = self.server(certificate=shared_authority()[1:], ids=ids)
        self.daemon(self.otlp(right.url, more))
        self.assertEqual(self.marker()["state"], "sent")
        self.assertEqual(right.requests[0].headers["Authorization"], "Bearer s3cret")

    def test_a_daemon_ends_while_a_sink_hangs(self):
        server = self.server(usual=hang)
        self.seed(1)
        witness = self.daemon(self.otlp(server.url))
        eventually(lambda: server.requests, "a request")
        self.assertEqual(witness.stop(), 0)


class ByEnvironment(SinkTest):
    def test_the_variables_of_opentelemetry_are_enough(self):
        server = self.server(ids=self.seed(1))
        witness = self.daemon(prefix=["env", f"OTEL_EXPORTER_OTLP_ENDPOINT={server.url}/",
                                      "OTEL_EXPORTER_OTLP_HEADERS=x-a=b%20c", "OTEL_EXPORTER_OTLP_PROTOCOL=http/json",
                                      "OTEL_EXPORTER_OTLP_COMPRESSION=none"])
        eventually(lambda: server.requests, lambda: f"a request; {witness.log()[-2000:]}")
        request, = server.requests
        self.assertEqual((request.path, request.headers["x-a"]), ("/v1/logs", "b c"))
        self.assertEqual(request.json()["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]["eventName"],
                         "oomwitness.oom_kill")

    def test_a_signals_own_variables_come_first_and_a_client_certificate_is_shown(self):
        authority, certificate, key = shared_authority()
        ids = self.seed(1)
        server = self.server(certificate=(certificate, key), client_authority=authority, ids=ids)
        own = [f"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT={server.url}/own/path", "OTEL_EXPORTER_OTLP_LOGS_HEADERS=x-a=own",
               f"OTEL_EXPORTER_OTLP_LOGS_CERTIFICATE={authority}"]
        everywhere = ["env", "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_EXPORTER_OTLP_HEADERS=x-a=all",
                      "OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere"]
        anonymous = self.daemon(prefix=everywhere + own)
        eventually(lambda: self.value(anonymous, "failed_total", sink="otlp") >= 1, lambda: anonymous.log()[-2000:])
        self.assertEqual(server.requests, [])
        anonymous.stop()
        known = self.daemon(prefix=everywhere + own + [f"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE={certificate}",
                                                       f"OTEL_EXPORTER_OTLP_CLIENT_KEY={key}"])
        eventually(lambda: server.requests, lambda: f"a request; {known.log()[-2000:]}")
        self.assertEqual((server.requests[0].path, server.requests[0].headers["x-a"]), ("/own/path", "own"))
