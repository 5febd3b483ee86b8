# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus on loopback, with the configuration and the rules as they are shipped."""
import json
import os
import re
import urllib.parse

import yaml
from harness import fileio, tools
from harness.daemon import free_port
from harness.logged_server import LoggedProgram
from harness.metrics import get
from harness.wait import eventually

SHIPPED = os.path.join(tools.TREE, "deploy/prometheus")


def scrape_jobs(objects, port):
    """{way: the scrape config} for the daemon at that port, with the labels that each way gives to a pod of these objects."""
    pod = next(o for o in objects if o["kind"] == "DaemonSet")["spec"]["template"]["metadata"]
    endpoint, = next(o for o in objects if o["kind"] == "PodMonitor")["spec"]["podMetricsEndpoints"]

    def job(name, labels, **more):
        labels = {"namespace": "oomwitness", "pod": "oomwitness-x7k2p", "__meta_kubernetes_pod_node_name": "n1", **labels}
        return {"job_name": name, "static_configs": [{"targets": [f"127.0.0.1:{port}"], "labels": labels}], **more}

    return {"annotations": job("kubernetes-pods", {re.sub(r"\W", "_", name): value for name, value in pod["labels"].items()},
                               metrics_path=pod["annotations"]["prometheus.io/path"]),
            "PodMonitor": job("oomwitness/oomwitness", {"container": "oomwitness", "endpoint": endpoint["port"]},
                              metrics_path=endpoint["path"], honor_labels=endpoint.get("honorLabels", False),
                              relabel_configs=[{"source_labels": r["sourceLabels"], "target_label": r["targetLabel"]}
                                               for r in endpoint["relabelings"]]),
            "by hand": None}


class Prometheus(LoggedProgram):
    """job: in place of the one that is shipped. is_hurried: alerts fire at once."""

    def __init__(self, program, folder, target_port, job=None, is_hurried=False):
        os.makedirs(folder, exist_ok=True)
        self.folder = folder
        self.port = free_port()
        config = os.path.join(folder, "prometheus.yml")
        fileio.write(config, yaml.safe_dump(self._config(target_port, job, is_hurried)))
        super().__init__([program, f"--config.file={config}", f"--storage.tsdb.path={folder}/tsdb",
                          f"--web.listen-address=127.0.0.1:{self.port}"], os.path.join(folder, "prometheus.log"))

    def _config(self, target_port, job, is_hurried):
        """What is shipped, but once a second and for one port."""
        config = yaml.safe_load(fileio.read(os.path.join(SHIPPED, "prometheus.yml")))
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [os.path.join(SHIPPED, name) for name in config["rule_files"]]
        if is_hurried:
            rules = re.sub(r"( for:) \d+m\n", r"\1 0s\n", fileio.read(config["rule_files"][0]))
            config["rule_files"] = [os.path.join(self.folder, "rules.yml")]
            fileio.write(config["rule_files"][0], rules)
        shipped, = config["scrape_configs"]
        shipped["static_configs"] = [{"targets": [f"127.0.0.1:{target_port}"]}]
        config["scrape_configs"] = [{**(job or shipped), "scrape_interval": "1s"}]
        return config

    def query(self, expression):
        """The samples of an instant query; a query that Prometheus refuses is a failure."""
        path = "/api/v1/query?query=" + urllib.parse.quote(expression)
        try:
            status, body = get(f"http://127.0.0.1:{self.port}{path}")
        except OSError:
            return []  # starting
        answer = json.loads(body) if status in (200, 400) else {}
        if answer.get("status") == "error":
            raise AssertionError(f"{expression}: {answer['error']}")
        result = answer.get("data", {}).get("result", [])
        return result if isinstance(result, list) else []

    def wait(self, expression):
        return eventually(lambda: self.query(expression), f"Prometheus has data for {expression}", every_s=0.2)
