# SPDX-License-Identifier: Apache-2.0
"""The alert rules: unit tests by promtool, their runbook, and only metrics that the daemon has."""
import os
import re
import subprocess
import unittest

import yaml
from harness import tools
from harness.api_server import ApiServer
from harness.case import E2eTest

FOLDER = os.path.join(tools.TREE, "deploy/prometheus")
RULES = os.path.join(FOLDER, "oomwitness.rules.yml")
CASES = os.path.join(tools.TREE, "tests/deploy/rules_test.yml")
METRIC = re.compile(r"\b(?:oomwitness_\w+|process_\w+)\b")


def load(path):
    with open(path) as f:
        return yaml.safe_load(f)


def alerts():
    return [rule for group in load(RULES)["groups"] for rule in group["rules"] if "alert" in rule]


def promtool(test, *args):
    program = tools.find_program("promtool")
    if not program:
        test.skipTest("no promtool (deploy/install-deps.sh tests fetches it)")
    return subprocess.run([program, *args], capture_output=True, text=True)


class Rules(unittest.TestCase):
    def test_promtool_cases_pass(self):
        done = promtool(self, "test", "rules", CASES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_cases_order_every_group(self):
        self.assertEqual(load(CASES)["group_eval_order"], [group["name"] for group in load(RULES)["groups"]])

    def test_promtool_accepts_the_configuration(self):
        done = promtool(self, "check", "config", os.path.join(FOLDER, "prometheus.yml"))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_every_alert_has_cases_where_it_fires_and_where_it_does_not(self):
        fires, silent = set(), set()
        for story in load(CASES)["tests"]:
            for case in story.get("alert_rule_test", []):
                (fires if case["exp_alerts"] else silent).add(case["alertname"])
        names = {alert["alert"] for alert in alerts()}
        self.assertEqual((names - fires, names - silent), (set(), set()))

    def test_every_alert_has_its_runbook_section_and_no_section_is_left_over(self):
        with open(os.path.join(FOLDER, "runbook.md")) as f:
            sections = re.findall(r"^## (\w+)$", f.read(), re.M)
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
        with open(os.path.join(FOLDER, "runbook.md")) as f:
            section = f.read().split("## OomwitnessOomKill\n")[1].split("\n## ")[0]
        self.assertEqual(sorted(cause for cause in causes if f"`{cause}`" not in section), [])

    def test_rules_name_only_metrics_that_the_daemon_exports(self):
        families = self.daemon(ApiServer(self.scratch).config()).scrape().families()  # one that is dead
        used = {name for group in load(RULES)["groups"] for rule in group["rules"] for name in METRIC.findall(rule["expr"])}
        self.assertTrue(used)
        self.assertEqual(used - families, set())
