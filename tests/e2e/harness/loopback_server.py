# SPDX-License-Identifier: Apache-2.0
"""HTTP on loopback: what the servers that tests pretend to be have in common."""
import http.server
import ssl
import sys
import threading


class Handler(http.server.BaseHTTPRequestHandler):
    """`self.server.owner` is who made the server."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, body=b"", content_type="application/octet-stream", headers=()):
        self.send_response(code)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class LoopbackServer(http.server.ThreadingHTTPServer):
    """Serves from its construction to close(). With `certificate`, (file, key file), by TLS; with `client_authority` a
    client must have a certificate of it."""

    daemon_threads = True

    def __init__(self, owner, handler, port=0, certificate=None, client_authority=None):
        super().__init__(("127.0.0.1", port), handler)
        self.owner = owner
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            if client_authority:
                context.verify_mode = ssl.CERT_REQUIRED
                context.load_verify_locations(client_authority)
            self.socket = context.wrap_socket(self.socket, server_side=True)
        self.url = f"{'https' if certificate else 'http'}://127.0.0.1:{self.server_port}"
        self._thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
        self._thread.start()

    def handle_error(self, *args):
        if not isinstance(sys.exc_info()[1], OSError):  # a client that goes away is what some tests are about
            super().handle_error(*args)

    def close(self):
        self.shutdown()
        self.server_close()
        self._thread.join()
