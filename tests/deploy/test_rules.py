# SPDX-License-Identifier: Apache-2.0
"""The alert rules: unit tests by promtool, their runbook, and only metrics that the daemon has."""
import ast
import glob
import os
import re
import socket
import unittest

import manifests
import yaml
from harness import fileio, tools
from harness.api_server import ApiServer
from harness.case import E2eTest
from harness.daemon import run_program
from harness.wait import eventually
from prometheus_server import Prometheus, scrape_jobs

FOLDER = os.path.join(tools.TREE, "deploy/prometheus")
RULES = os.path.join(FOLDER, "oomwitness.rules.yml")
CASES = os.path.join(tools.TREE, "tests/deploy/rules_test.yml")
METRIC = re.compile(r"\b(?:oomwitness_\w+|process_\w+)\b")


def load(path):
    return yaml.safe_load(fileio.read(path))


def alerts():
    return [rule for group in load(RULES)["groups"] for rule in group["rules"] if "alert" in rule]


class Rules(unittest.TestCase):
    def test_promtool_cases_pass(self):
        run_program(tools.needed("promtool"), "test", "rules", CASES, status=0, timeout_s=300)

    def test_cases_order_every_group(self):
        self.assertEqual(load(CASES)["group_eval_order"], [group["name"] for group in load(RULES)["groups"]])

    def test_promtool_accepts_the_configuration(self):
        run_program(tools.needed("promtool"), "check", "config", os.path.join(FOLDER, "prometheus.yml"), status=0)

    def test_every_alert_has_cases_where_it_fires_and_where_it_does_not(self):
        fires, silent = set(), set()
        for story in load(CASES)["tests"]:
            for case in story.get("alert_rule_test", []):
                (fires if case["exp_alerts"] else silent).add(case["alertname"])
        names = {alert["alert"] for alert in alerts()}
        self.assertEqual((names - fires, names - silent), (set(), set()))

    def test_every_alert_has_its_runbook_section_and_no_section_is_left_over(self):
        sections = re.findall(r"^## (\w+)$", fileio.read(os.path.join(FOLDER, "runbook.md")), re.M)
        self.assertEqual(sections, [s for s in dict.fromkeys(sections)])
        self.assertEqual(set(sections), {alert["alert"] for alert in alerts()})
        for alert in alerts():
            anchor = "deploy/prometheus/runbook.md#" + alert["alert"].lower()
            self.assertEqual(alert["annotations"]["runbook_url"], anchor)

    def test_every_alert_says_severity_summary_and_description(self):
        for alert in alerts():
            self.assertIn(alert["labels"]["severity"], ("warning", "critical"), alert["alert"])
            self.assertTrue(alert["annotations"]["summary"] and alert["annotations"]["description"], alert["alert"])


class RulesAndDaemon(E2eTest):
    def test_every_cause_is_counted_from_the_start_and_the_runbook_says_what_to_do(self):
        """increase() does not see the first kill of a series that begins with it."""
        with open(os.path.join(tools.TREE, "userspace/verdict/verdict.h")) as f:
            judged = {cause for row in re.findall(r"^//   \d    ([a-z_]+(?:, [a-z_]+)*) ", f.read(), re.M) for cause in row.split(", ")}
        causes = {labels["cause"] for labels, _ in self.daemon().scrape().values("oomwitness_oom_kills_by_cause_total")}
        self.assertGreaterEqual(causes, judged | {"unknown"})
        self.assertGreater(len(judged), 10)
        section = fileio.read(os.path.join(FOLDER, "runbook.md")).split("## OomwitnessOomKill\n")[1].split("\n## ")[0]
        self.assertEqual(sorted(cause for cause in causes if f"`{cause}`" not in section), [])

    def test_rules_name_only_metrics_that_the_daemon_exports(self):
        families = self.daemon(ApiServer(self.scratch).config()).scrape().families()  # one that is dead
        used = {name for group in load(RULES)["groups"] for rule in group["rules"] for name in METRIC.findall(rule["expr"])}
        self.assertTrue(used)
        self.assertEqual(used - families, set())

    def test_tests_ask_for_labels_that_the_daemon_exports(self):
        """Also those that run on a cluster or in a guest, minutes after this one."""
        witness, box = self.daemon(), self.cgroup("labels", 32)
        self.memhog(box, "--rate-mb-s", "0").wait_killed()
        self.wait_counted(witness, 1)
        asked, scrape = 0, witness.scrape()
        for path in glob.glob(os.path.join(tools.TREE, "tests/*/**/*.py"), recursive=True):
            for call in ast.walk(ast.parse(fileio.read(path), path)):
                if isinstance(call, ast.Call) and getattr(call.func, "attr", "") in ("values", "sum") and call.keywords:
                    name = getattr(call.args[0], "value", None) if call.args else None
                    scrape.values(name, **{word.arg: "" for word in call.keywords if word.arg})
                    asked += bool(name in scrape.families())
        self.assertGreater(asked, 20)

    def test_however_it_is_scraped_its_labels_clash_with_none_and_it_is_missed_when_it_is_down(self):
        program = tools.needed("prometheus")
        witness, servers = self.daemon(), {}
        for way, job in scrape_jobs(manifests.overlay("prometheus-operator"), witness.port).items():
            servers[way] = self.closing(Prometheus(program, os.path.join(self.scratch, way), witness.port, job, is_hurried=True))
        down = 'ALERTS{alertname="OomwitnessDown", alertstate="firing"}'
        targets = {"annotations": {"namespace", "pod", "app_kubernetes_io_name"}, "PodMonitor": {"namespace", "pod", "container"}, "by hand": set()}
        for way, server in servers.items():
            server.wait("count_over_time(oomwitness_build_info[1m]) > 5")
            labels = {label for s in server.query('{__name__=~"oomwitness_.+|process_.+", job!=""}') for label in s["metric"]}
            self.assertEqual([label for label in labels if label.startswith("exported_")], [], way)
            self.assertLessEqual(targets[way] | {"k8s_node_name"}, labels, way)
            eventually(lambda: not server.query(down), lambda: f"{way}: {server.query(down)}")
        witness.stop()
        for way, server in servers.items():
            alert, = server.wait(down)
            self.assertEqual(alert["metric"]["k8s_node_name"], socket.gethostname(), way)
