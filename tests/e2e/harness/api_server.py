# SPDX-License-Identifier: Apache-2.0
"""A stand-in for the Kubernetes API server: lists and watches pods and takes Events, over TLS on loopback.

Speaks what core/v1 documents of it: paged lists, versions, watches with bookmarks, 401, 403, 410, 429. What
it is to do wrong, tests set as attributes.
"""
import atexit
import contextlib
import functools
import http.server
import json
import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

from . import fileio
from .loopback_server import Handler


def make_authority(directory, name="ca"):
    """A CA and a server certificate for 127.0.0.1 of its own: (CA file, certificate, key)."""
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=directory)

    ca, key, cert = f"{name}.crt", f"{name}-server.key", f"{name}-server.crt"
    fileio.write(os.path.join(directory, f"{name}.ext"), "subjectAltName=IP:127.0.0.1\n")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
            "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", ca)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=kubernetes",
            "-keyout", key, "-out", f"{name}.csr")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", ca, "-CAkey", f"{name}.key", "-CAcreateserial", "-days", "2",
            "-extfile", f"{name}.ext", "-out", cert)
    return tuple(os.path.join(directory, file) for file in (ca, cert, key))


@functools.cache
def shared_authority():
    """Made once for all servers of this run: three programs are started for it."""
    directory = tempfile.mkdtemp(prefix="oomw-authority-")
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    return make_authority(directory)


class _Handler(Handler):
    def do_GET(self):
        self.server.owner.on_get(self)

    def do_POST(self):
        self.server.owner.on_post(self)

    def answer(self, code, body, content_type="application/json", headers=()):
        super().answer(code, body if isinstance(body, bytes) else json.dumps(body).encode(), content_type, headers)

    def begin_stream(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass  # a client that went away, or would not have our certificate

    def process_request(self, request, client_address):
        self.owner.connections.append(request)
        super().process_request(request, client_address)


def status_of(code, message):
    return {"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "code": code}


class ApiServer:
    def __init__(self, directory, port=0):
        self.directory = directory
        self.ca_file, self.cert_file, self.key_file = shared_authority()
        self.token_file = os.path.join(directory, "token")
        self.tokens = {"token-one"}
        self.write_token("token-one")
        self.lock = threading.Condition()
        self.version = 100
        self.pods = {}
        self.changes = []            # (version, type, object)
        self.oldest_version = 0      # older ones are gone
        self.bookmark_every_s = 0.5
        self.watch_s = 600           # a watch ends after so long, whatever was asked
        self.is_paged = True         # False: the whole list at once, as server caches answer resourceVersion=0
        self.delay_s = 0             # before every answer
        self.list_answer = None      # f(handler): instead of a list
        self.watch_answer = None     # f(handler): instead of a watch
        self.post_answers = []       # (status, headers) for the next posts
        self.posted = []
        self.requests = []           # (method, path, query)
        self.connections = []
        self.port = port
        self.server = None
        if not port:
            with socket.socket() as s:
                s.bind(("127.0.0.1", 0))
                self.port = s.getsockname()[1]

    # --- what a test does

    def write_token(self, token):
        fileio.write(self.token_file, token + "\n")

    def start(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.cert_file, self.key_file)
        self.server = _Server(("127.0.0.1", self.port), _Handler)
        self.server.owner = self
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def stop(self):
        if self.server is None:
            return
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self.connections, self.server = [], None
        with self.lock:
            self.lock.notify_all()

    def put(self, pod):
        with self.lock:
            known = pod["metadata"]["uid"] in self.pods
            self._change("MODIFIED" if known else "ADDED", pod)
            self.pods[pod["metadata"]["uid"]] = pod

    def delete(self, uid):
        with self.lock:
            self._change("DELETED", self.pods.pop(uid))

    def forget_versions(self):
        """From here on every older version is 410."""
        with self.lock:
            self.version += 10
            self.oldest_version = self.version
            self.changes = []
            self.lock.notify_all()

    def count(self, method="GET", **wanted):
        return sum(1 for m, _, query in self.requests
                   if m == method and all(query.get(key) == value for key, value in wanted.items()))

    def config(self, more=""):
        return (f'[kubernetes]\nenabled = true\napi_server = "https://127.0.0.1:{self.port}"\n'
                f'token_file = "{self.token_file}"\nca_file = "{self.ca_file}"\nnode_name = "node-1"\n{more}')

    # --- what it answers

    def _change(self, kind, pod):
        self.version += 1
        pod["metadata"]["resourceVersion"] = str(self.version)
        self.changes.append((self.version, kind, json.loads(json.dumps(pod))))
        self.lock.notify_all()

    def _refused(self, handler):
        token = handler.headers.get("Authorization", "").removeprefix("Bearer ")
        if token in self.tokens:
            return False
        handler.answer(401, status_of(401, "Unauthorized"))
        return True

    def on_get(self, handler):
        url = urllib.parse.urlsplit(handler.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        self.requests.append(("GET", url.path, query))
        time.sleep(self.delay_s)
        if self._refused(handler):
            return
        if url.path != "/api/v1/pods" or query.get("fieldSelector") != "spec.nodeName=node-1":
            handler.answer(404, status_of(404, "not here"))
        elif "watch" in query:
            (self.watch_answer or self._watch)(handler, query)
        else:
            (self.list_answer or self._list)(handler, query)

    def _list(self, handler, query):
        with self.lock:
            pods, version = list(self.pods.values()), self.version
        first = int(query.get("continue", "0"))
        last = first + int(query.get("limit", "500")) if self.is_paged else len(pods)
        metadata = {"resourceVersion": str(version)}
        if last < len(pods):
            metadata.update({"continue": str(last), "remainingItemCount": len(pods) - last})
        handler.answer(200, {"kind": "PodList", "apiVersion": "v1", "metadata": metadata, "items": pods[first:last]})

    def _watch(self, handler, query):
        seen = int(query["resourceVersion"])
        handler.begin_stream()
        end = time.monotonic() + min(self.watch_s, float(query["timeoutSeconds"]))
        next_bookmark = time.monotonic() + self.bookmark_every_s
        while time.monotonic() < end and self.server is not None:
            with self.lock:
                if seen < self.oldest_version:
                    handler.chunk(self._event("ERROR", status_of(410, f"too old resource version: {seen}")))
                    break
                news = [change for change in self.changes if change[0] > seen]
                if not news:
                    self.lock.wait(0.05)
            for seen, kind, pod in news:
                handler.chunk(self._event(kind, {"kind": "Pod", "apiVersion": "v1", **pod}))
            if time.monotonic() > next_bookmark:
                next_bookmark = time.monotonic() + self.bookmark_every_s
                handler.chunk(self._event("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": str(seen)}}))
        handler.chunk(b"")

    @staticmethod
    def _event(kind, item):
        return json.dumps({"type": kind, "object": item}).encode() + b"\n"

    def on_post(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        self.requests.append(("POST", handler.path, {}))
        time.sleep(self.delay_s)
        if self._refused(handler):
            return
        status, headers = self.post_answers.pop(0) if self.post_answers else (201, ())
        if status == 201:
            self.posted.append((handler.path, json.loads(body)))
            handler.answer(201, json.loads(body))
        else:
            handler.answer(status, status_of(status, f"status {status}"), headers=headers)
