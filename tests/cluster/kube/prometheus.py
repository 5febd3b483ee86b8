# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus inside of the node's network, with the configuration and the rules as they are shipped."""
import json
import os
import shutil
import subprocess
import time
import urllib.parse

from harness import fileio, tools
from harness.logged_server import LoggedProgram
from harness.wait import eventually

from .pki import NODE
from .witness import NAMESPACE

_SHIPPED = os.path.join(tools.TREE, "deploy/prometheus")
_PORT = 9090
_MINUTES_BEFORE = 14


def targets(node):
    """Debian's Prometheus cannot ask the API server: kubectl's answer, as a list of files has it, with the labels that a
    PodMonitor's targets have."""
    pods = json.loads(node.kubectl("get", "pods", "--namespace", NAMESPACE, "--output", "json"))["items"]
    return [{"targets": [f"{pod['status']['podIP']}:{port['containerPort']}"],
             "labels": {"instance": pod["spec"]["nodeName"], "namespace": NAMESPACE, "pod": pod["metadata"]["name"]}}
            for pod in pods for c in pod["spec"]["containers"] for port in c["ports"] if port["name"] == "metrics"]


class Prometheus(LoggedProgram):
    """Asked once a second for all; it knows oomwitness to have run for a quarter of an hour, as the alert of a first kill
    wants to have it."""

    def __init__(self, node):
        self._node = node
        self.folder = node.path("prometheus")
        os.makedirs(self.folder)
        self._write_history()
        self._write("targets.json", targets(node))
        self._write("prometheus.yml", self._config())
        command = node.inside(tools.needed("prometheus"), f"--config.file={self.folder}/prometheus.yml",
                              f"--storage.tsdb.path={self.folder}/tsdb", f"--web.listen-address=127.0.0.1:{_PORT}")
        super().__init__(command, os.path.join(self.folder, "log"))

    def _write(self, name, made):
        fileio.write_json(os.path.join(self.folder, name), made)  # which YAML is, too

    def _config(self):
        import yaml
        config = yaml.safe_load(fileio.read(os.path.join(_SHIPPED, "prometheus.yml")))
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [os.path.join(_SHIPPED, name) for name in config["rule_files"]]
        job = config["scrape_configs"][0]
        job["scrape_interval"] = "1s"
        del job["static_configs"]
        job["file_sd_configs"] = [{"files": [os.path.join(self.folder, "targets.json")]}]
        return config

    def _write_history(self):
        now = int(time.time())
        labels = f'job="oomwitness",instance="{NODE}",k8s_node_name="{NODE}"'
        samples = [f"oomwitness_build_info{{{labels}}} 1 {now - 60 * ago}" for ago in range(_MINUTES_BEFORE, 5, -1)]
        text = "\n".join(["# TYPE oomwitness_build_info gauge", *samples, "# EOF", ""])
        path = os.path.join(self.folder, "history")
        fileio.write(path, text)
        done = subprocess.run([tools.needed("promtool"), "tsdb", "create-blocks-from", "openmetrics", path,
                               os.path.join(self.folder, "tsdb")], capture_output=True, text=True)
        if done.returncode:
            raise AssertionError(f"promtool: {done.stdout}{done.stderr}")

    def _get(self, path):
        text = self._node.http_get("127.0.0.1", _PORT, path)
        return json.loads(text)["data"] if text else {}

    def query(self, expression):
        """The samples of an instant query: [(labels, value)]; none while it starts."""
        found = self._get("/api/v1/query?query=" + urllib.parse.quote(expression)).get("result", [])
        return [(one["metric"], float(one["value"][1])) for one in found]

    def alerts(self, name=None):
        """Those that fire or are pending."""
        return [a for a in self._get("/api/v1/alerts").get("alerts", []) if name in (None, a["labels"]["alertname"])]

    def wait(self, expression):
        return eventually(lambda: self.query(expression), lambda: f"data for {expression}: {self.text()[-2000:]}", 60, 0.2)

    def close(self):
        super().close()
        shutil.rmtree(self.folder)
