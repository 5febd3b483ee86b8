# SPDX-License-Identifier: Apache-2.0
"""The dashboard's queries, put to a real Prometheus that scrapes a real daemon which saw a real kill."""
import os
import re
import unittest

from harness import fileio, tools
from harness.case import E2eTest
from harness.wait import NotInTime, eventually
from prometheus_server import Prometheus

DASHBOARD = os.path.join(tools.TREE, "deploy/grafana/oomwitness.json")
# Queries that may rightly have no data here, and why. Everything else must have some.
EMPTY = {
    "oomwitness_kubernetes_": "no API server is asked on this machine",
    "label_values(k8s_namespace_name)": "no pods on this machine: containers are plain cgroups, which have no namespace",
    "label_values(k8s_pod_name)": "no pods on this machine",
}
CONTAINER = ("namespace", "pod", "container")
LABEL_VALUES = re.compile(r"label_values\((.*), (\w+)\)")


def dashboard():
    return fileio.read_json(DASHBOARD)


def queries():
    for panel in dashboard()["panels"]:
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for annotation in dashboard()["annotations"]["list"]:
        yield annotation["name"], annotation["expr"]


def as_grafana_asks(expression):
    """With every variable at All, over the last minute."""
    filled = re.sub(r"\$(node|namespace|pod|container)\b", ".*", expression)
    return filled.replace("$__range", "1m").replace("$__rate_interval", "1m")


def is_rightly_empty(expression):
    return any(prefix in expression for prefix in EMPTY)


class Dashboard(unittest.TestCase):
    def test_metrics_without_data_here_are_those_that_the_exporter_writes(self):
        """The others are shown to exist by their data."""
        if not os.path.isdir(os.path.join(tools.TREE, "userspace/kubernetes")):
            self.skipTest("this tree asks no API server yet")
        exported = fileio.read(os.path.join(tools.TREE, "userspace/export/prometheus.cc"))
        names = {name for _, expression in queries() if is_rightly_empty(expression)
                 for name in re.findall(r"oomwitness_(\w+)\{", expression)}
        self.assertTrue(names)
        self.assertEqual([name for name in names if f'"{name}"' not in exported], [])

    def test_panels_do_not_overlap_and_have_own_ids(self):
        panels = dashboard()["panels"]
        self.assertEqual(len({p["id"] for p in panels}), len(panels))
        taken = {}
        for panel in panels:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
                self.assertNotIn(cell, taken, (panel["title"], taken.get(cell)))
                taken[cell] = panel["title"]

    def test_every_query_follows_the_variables(self):
        names = [v["name"] for v in dashboard()["templating"]["list"]]
        self.assertEqual(names, ["datasource", "node", "namespace", "pod", "container", "web"])
        for title, expression in queries():
            self.assertIn('k8s_node_name=~"$node"', expression, title)
            if "oomwitness_container_" in expression or "oom_kills_total{" in expression.replace("unobserved_", ""):
                is_of_container = "kernel_oom_kills" not in expression
                self.assertEqual('k8s_container_name=~"$container"' in expression, is_of_container, title)

    def test_kills_and_leaks_link_to_their_pages(self):
        links = {panel["title"]: link["url"] for panel in dashboard()["panels"] for link in panel.get("fieldConfig", {}).get("defaults", {}).get("links", [])}
        self.assertEqual(links, {
            "Kills": "${web}/?" + "&".join(f"{name}=${{__field.labels.k8s_{name}_name}}" for name in CONTAINER),
            "Kills by container": "${web}/?" + "&".join(f"{name}=${{__data.fields.k8s_{name}_name}}" for name in CONTAINER),
            "Kills by cause": "${web}/?cause=${__field.labels.cause}", "Suspected leaks": "${web}/now"})
        labels = {title: re.search(r"sum by \(([\w, ]+)\)", expression)[1].split(", ") for title, expression in queries() if title in ("Kills", "Kills by cause")}
        for title, known in labels.items():  # of each series that the link is made of
            self.assertLessEqual(set(re.findall(r"__field\.labels\.(\w+)", links[title])), set(known))

    def test_kills_are_marked_in_every_panel(self):
        mark, = dashboard()["annotations"]["list"]
        self.assertTrue(mark["enable"])
        self.assertIn("oomwitness_oom_kills_total{", mark["expr"])
        for name in CONTAINER:
            self.assertIn("{{k8s_%s_name}}" % name, mark["textFormat"])
            self.assertIn(f'k8s_{name}_name=~"${name}"', mark["expr"])

    def test_nothing_is_asked_but_of_the_chosen_source(self):
        for mark in dashboard()["annotations"]["list"]:
            self.assertEqual(mark["datasource"], {"type": "prometheus", "uid": "${datasource}"})
        for panel in dashboard()["panels"]:
            for part in [panel, *panel.get("targets", [])] if panel["type"] != "row" else []:
                self.assertEqual(part["datasource"], {"type": "prometheus", "uid": "${datasource}"}, panel["title"])


class DashboardData(E2eTest):
    def test_every_query_has_data_after_a_kill(self):
        prometheus = self.scene()
        missing = []
        for title, expression in queries():
            asked = as_grafana_asks(expression)
            if is_rightly_empty(expression):
                continue
            try:
                eventually(lambda: prometheus.query(asked), "", 15, 0.2)
            except NotInTime:
                missing.append(f"{title}: {asked}")
        self.assertEqual(missing, [])
        self.check_variables(prometheus)
        self.check_alert(prometheus)

    def scene(self):
        """A daemon, scraped; a kill of a Go program that was known before; another that goes on growing and is reclaimed."""
        program = tools.needed("prometheus")
        witness = self.daemon("[kernel]\nrun_time_stats = true\n[sampler]\nslow_seconds = 1\n")
        prometheus = self.closing(Prometheus(program, self.scratch, witness.port))
        killed, growing = self.cgroup("killed", 64), self.cgroup("growing", 2048)
        prometheus.wait(f'oomwitness_oom_kills_total{{k8s_container_name="{killed.name}"}} == 0')
        self.leaky_go(growing, "-rate", "4")
        self.leaky_go(killed, "-rate", "40").wait_killed()
        self.wait_counted(witness, 1)
        self.killed = killed
        return prometheus

    def check_variables(self, prometheus):
        for variable in dashboard()["templating"]["list"]:
            if variable["type"] != "query":
                continue
            series, label = LABEL_VALUES.fullmatch(variable["definition"]).groups()
            found = [s for s in prometheus.query(as_grafana_asks(series)) if s["metric"].get(label)]
            reason = EMPTY.get(f"label_values({label})")
            self.assertEqual(bool(found), reason is None, f"variable {variable['name']}: {reason}")

    def check_alert(self, prometheus):
        """The rules as shipped, run by the same server."""
        found = prometheus.wait(f'ALERTS{{alertname="OomwitnessOomKill", container="{self.killed.name}"}}')
        self.assertEqual(found[0]["metric"]["alertstate"], "firing")
        self.assertEqual(prometheus.query('ALERTS{alertname="OomwitnessDown"}'), [])
