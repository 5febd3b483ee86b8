# SPDX-License-Identifier: Apache-2.0
"""The API server, asked in JSON over a socket file: a hundred times cheaper than a kubectl for each question."""
import http.client
import json
import socket

from harness.wait import TIME_FACTOR

_FOLDERS = {"Deployment": "apis/apps/v1", "StatefulSet": "apis/apps/v1", "DaemonSet": "apis/apps/v1",
            "Job": "apis/batch/v1", "CronJob": "apis/batch/v1beta1"}


class ApiError(AssertionError):
    def __init__(self, method, path, status, body):
        super().__init__(f"{method} {path}: {status} {body[:500]}")
        self.status = status


class _Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout_s):
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Api:
    """`kubectl proxy` listens at `path`; it is the cluster's admin."""

    def __init__(self, path):
        self._path = path

    def call(self, method, path, body=None, content_type="application/json", timeout_s=30):
        """The answer's text; raises ApiError, or OSError without an answer."""
        connection = _Connection(self._path, timeout_s * TIME_FACTOR)
        try:
            text = body if body is None or isinstance(body, str) else json.dumps(body)
            connection.request(method, "/" + path.lstrip("/"), text, {"Content-Type": content_type} if body else {})
            answer = connection.getresponse()
            read = answer.read().decode(errors="replace")
        finally:
            connection.close()
        if answer.status >= 300:
            raise ApiError(method, path, answer.status, read)
        return read

    def get(self, path):
        return json.loads(self.call("GET", path))

    def delete(self, path, grace_s=0):
        """Nothing where it is not there, or goes already."""
        try:
            self.call("DELETE", f"{path}?gracePeriodSeconds={grace_s}&propagationPolicy=Background")
        except ApiError as e:
            if e.status not in (404, 409):
                raise

    def create(self, made):
        """An object as a manifest has it; what became of it."""
        folder = _FOLDERS.get(made["kind"], "api/v1")
        namespace = made["metadata"].get("namespace")
        where = f"{folder}/namespaces/{namespace}" if namespace else folder
        return json.loads(self.call("POST", f"{where}/{made['kind'].lower()}s", made))

    def pods(self, namespace):
        return self.get(f"api/v1/namespaces/{namespace}/pods")["items"]

    def pod(self, namespace, name):
        return self.get(f"api/v1/namespaces/{namespace}/pods/{name}")

    def events(self, namespace):
        return self.get(f"api/v1/namespaces/{namespace}/events")["items"]

    def is_ready(self):
        try:
            return self.call("GET", "readyz", timeout_s=2).startswith("ok")
        except (ApiError, OSError):
            return False
