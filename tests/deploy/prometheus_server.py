# SPDX-License-Identifier: Apache-2.0
"""A real Prometheus on loopback, with the configuration and the rules as they are shipped."""
import json
import os
import subprocess
import urllib.parse

import yaml
from harness import tools
from harness.daemon import free_port
from harness.metrics import get
from harness.wait import eventually

SHIPPED = os.path.join(tools.TREE, "deploy/prometheus")


class Prometheus:
    def __init__(self, program, folder, target_port):
        self.folder = folder
        self.port = free_port()
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w") as f:
            yaml.safe_dump(self._config(target_port), f)
        self.log = open(os.path.join(folder, "prometheus.log"), "w")
        self.process = subprocess.Popen(
            [program, f"--config.file={config}", f"--storage.tsdb.path={folder}/tsdb",
             f"--web.listen-address=127.0.0.1:{self.port}"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    @staticmethod
    def _config(target_port):
        """What is shipped, but once a second and for one port."""
        with open(os.path.join(SHIPPED, "prometheus.yml")) as f:
            config = yaml.safe_load(f)
        config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        config["rule_files"] = [os.path.join(SHIPPED, name) for name in config["rule_files"]]
        job = config["scrape_configs"][0]
        job["scrape_interval"] = "1s"
        job["static_configs"] = [{"targets": [f"127.0.0.1:{target_port}"]}]
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

    def close(self):
        self.process.terminate()
        self.process.wait()
        self.log.close()
