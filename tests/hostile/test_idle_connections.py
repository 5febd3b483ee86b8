# SPDX-License-Identifier: Apache-2.0
"""Attack: idle, slow and deaf connections to the metrics port.

Seen: with 8 idle TCP connections /healthz timed out; six probes later the kubelet restarts the pod.
Must hold: the bars of hostile_case; /metrics answers, too.
"""
import contextlib
import socket
import threading

from hostile_case import HostileTest

# Of loopback, but not the address that /healthz is asked from: a container has an address of its own.
ATTACKER = "127.0.0.2"


class IdleConnections(HostileTest):
    COUNT = 64

    def connect(self, stack, data=b""):
        sock = stack.enter_context(socket.create_connection(("127.0.0.1", self.witness.port), 5, (ATTACKER, 0)))
        with contextlib.suppress(OSError):  # the daemon may have had enough of us
            sock.sendall(data)
        return sock

    def hold(self, data):
        self.fortress()
        with contextlib.ExitStack() as stack:
            for _ in range(self.COUNT):
                self.connect(stack, data)
            self.kill_neighbour()
            self.assert_unhurt()
            self.assertGreater(self.witness.scrape().sum("oomwitness_build_info"), 0)

    def test_that_say_nothing(self):
        self.hold(b"")

    def test_that_never_end_their_head(self):
        self.hold(b"GET /metrics HTTP/1.1\r\nX: ")

    def test_that_read_no_answer(self):
        self.hold(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 200)

    def test_that_drip_their_head(self):
        self.fortress()
        ended = threading.Event()
        with contextlib.ExitStack() as stack:
            socks = [self.connect(stack, b"GET /healthz HTTP/1.1\r\nX: ") for _ in range(self.COUNT)]

            def drip():
                while not ended.wait(0.3):
                    for sock in socks:
                        with contextlib.suppress(OSError):
                            sock.send(b"y")

            thread = threading.Thread(target=drip)
            thread.start()
            try:
                self.kill_neighbour()
                self.assert_unhurt()
            finally:
                ended.set()
                thread.join()
