# SPDX-License-Identifier: Apache-2.0
"""Public reports, rebuilt: what the incident must know of each, and what its answer must say.

`right`: what leads to the fix, in the answer's lines, as it was written down before the first run. Where today's answer does
not, the case says so (`is_right = False`): it is red as soon as the answer has become right, for the mark to be taken away.
"""
import http.client
import json
import os
import shutil
import socket
import subprocess
import time
import unittest

from harness import tools
from harness.case import E2eTest
from harness.daemon import free_port
from harness.logged_server import LoggedProgram
from harness.wait import DEADLINE_S, eventually
from harness.workload import Load

PROGRAMS = os.path.join(tools.WORKLOADS, "cases")
PYTHON = "/usr/bin/python3"
LASTS_S = 150  # to the kill
SETTLED_S = 8


class CaseTest(E2eTest):
    def background(self, *argv, env=None):
        output = os.path.join(self.scratch, f"background-{os.path.basename(argv[-1])}")
        return self.closing(LoggedProgram([str(one) for one in argv], output, env))

    def load(self, step):
        return self._stack.enter_context(Load(step))

    def killed(self, argv, limit_mb, *, env=None, load=None, box=None, knows, right, is_right=True):
        """The incident of the first kill of `argv`; `knows`: patterns, each somewhere in its evidence."""
        witness = self.daemon()
        box = box or self.cgroup("case", limit_mb)
        work = self.start(argv, box, own_netns=False, env=env)
        if load:
            load(work)
        eventually(lambda: box.kernel_kills() > 0 or not work.is_alive(), work.describe, LASTS_S, 0.05)
        self.assertGreater(box.kernel_kills(), 0, work.describe())
        incident = self.settled(witness, box)
        known = json.dumps([incident.get(part) for part in ("fillers", "composition", "growth", "collector", "memory_stat",
                                                            "victims", "contents_trend")], ensure_ascii=False)
        answer = incident["answer"]
        said = " ".join(answer.get(part) or "" for part in ("sentence", "action"))
        print(f"      {incident['verdict'] and incident['verdict']['cause']}: {said}", flush=True)
        for pattern in knows:
            self.assertRegex(known, pattern)
        if is_right:
            self.assertRegex(said, right)
        else:
            self.assertNotRegex(said, right, "the answer is right now: take is_right=False away")
        return incident

    def settled(self, witness, box):
        """The incident once nothing has joined it for a while."""
        path = os.path.join(self.wait_incidents(witness, 1, box)[0]["_dir"], "incident.json")
        eventually(lambda: time.time() - os.stat(path).st_mtime > SETTLED_S, "no more revisions", DEADLINE_S, 0.5)
        return self.incidents_of(witness, box)[0]


class Python(CaseTest):
    def program(self, name, *arguments):
        return [PYTHON, os.path.join(PROGRAMS, name), *arguments]

    def test_01_django_remembers_its_queries(self):
        """Uninett/nav#97, scrapy/scrapy#1685: settings.DEBUG keeps the SQL of 9,000 statements."""
        self.killed(self.program("django_query_log.py", os.path.join(self.scratch, "django.db")), 128,
                    knows=[r'"name": "str"|of str\b'], right="queries_log|debug_sql")

    @unittest.skipUnless(os.path.isdir("/usr/lib/python3/dist-packages/numpy"), "there is no numpy (python3-numpy)")
    def test_03_crops_keep_whole_frames(self):
        """numpy/numpy#10273, #19091: crops are views."""
        self.killed(self.program("crops_of_frames.py"), 160, knows=["read_frame"], right="read_frame|detect_faces|FaceIndex")

    def test_04_a_pool_reads_its_source_ahead(self):
        """python/cpython#101586, #85754: ThreadPool.imap."""
        self.killed(self.program("imap_reads_ahead.py"), 128, knows=["tuple", "read_documents"],
                    right="read_documents|Document")

    def test_24_output_of_children_stays_unread(self):
        """oVirt/vdsm#240, python/cpython#87474: 97 of 112 MiB are the kernel's, in pipes."""
        self.killed(self.program("unread_output.py"), 112, knows=["Conversion"], right="pipe", is_right=False)

    def test_23_health_checks_pile_up(self):
        """kubernetes/kubernetes#124226: many alike, each small, none of them at fault."""
        port = free_port()
        self.background(PYTHON, os.path.join(PROGRAMS, "blackhole.py"), str(port))
        self.killed(["/bin/bash", os.path.join(PROGRAMS, "probes_pile_up.sh"), str(port)], 160, knows=["python3"],
                    right=r"\d+ (processes|python3)", is_right=False)


class Tmpfs(CaseTest):
    def test_18_another_container_filled_the_pods_tmpfs(self):
        """kubernetes/kubernetes#128339: what it wrote stays when it ends, and the next one pays."""
        folder = os.path.join(self.scratch, "pod-scratch")
        os.mkdir(folder)
        subprocess.run(["mount", "-t", "tmpfs", "none", folder], check=True)
        self._stack.callback(subprocess.run, ["umount", "-l", folder], check=True)
        pod = self.cgroup("pod", 128)
        exporter = self.start([PYTHON, os.path.join(PROGRAMS, "exporter.py"), folder], self.cgroup("exporter", parent=pod))
        eventually(lambda: not exporter.is_alive(), exporter.describe)
        self.killed([PYTHON, os.path.join(PROGRAMS, "prices.py")], 128, box=self.cgroup("prices", parent=pod),
                    knows=[r'"shmem": '], right="tmpfs|files in memory", is_right=False)


@unittest.skipUnless(shutil.which("node"), "there is no node")
class Node(CaseTest):
    MODULES = os.environ.get("NODE_PATH", "/usr/share/nodejs")

    def program(self, name, *arguments):
        tools.read_ahead(os.path.realpath(shutil.which("node")))
        return [shutil.which("node"), os.path.join(PROGRAMS, name), *map(str, arguments)]

    def modules(self, *names):
        for name in names:
            if not os.path.isdir(os.path.join(self.MODULES, name)):
                self.skipTest(f"there is no module {name} in {self.MODULES}")
        return {"NODE_PATH": self.MODULES}

    def test_06_a_race_against_a_promise_that_never_settles(self):
        """nodejs/node#17469, remix-run/react-router#15247."""
        self.killed(self.program("race_against_shutdown.js"), 160, knows=["StockMessage"],
                    right="^(?!.*(no leak|limit is too small)).*(StockMessage|PromiseReaction)")

    def test_07_sessions_in_memory(self):
        """ExpressGateway/express-gateway#479, expressjs/session#284: the default store never prunes."""
        env, port = self.modules("express", "express-session"), free_port()

        def visit(_):
            http.client.HTTPConnection("127.0.0.1", port, timeout=5).request("GET", "/catalogue")

        self.killed(self.program("sessions_in_memory.js", port), 160, env=env, load=lambda _: self.load(visit),
                    knows=["string"], right="MemoryStore|sessions|catalogue", is_right=False)

    def test_09_a_zlib_state_of_each_socket(self):
        """nodejs/node#8871, socketio/engine.io#559: native, outside of V8's heap."""
        env, port = self.modules("ws"), free_port()
        load = lambda _: self.background(*self.program("deflate_load.js"), port, "130", env=dict(os.environ, **env))
        self.killed(self.program("deflate_per_socket.js", port), 160, env=env, load=load, knows=["malloc"],
                    right="zlib|[Dd]eflate")


@unittest.skipUnless(shutil.which("javac"), "there is no javac")
class Java(CaseTest):
    def program(self, name, *options, jars=""):
        # As where it was reported: on one processor the JVM takes another collector, and a limit on direct memory is met first.
        return [shutil.which("java"), "-XX:ActiveProcessorCount=2", *options, "-cp", f"{tools.java_case(name, jars)}:{jars}", name]

    def test_11_buffers_that_nobody_releases(self):
        """netty/netty#6343: -Xmx allows as much direct memory again."""
        jars = tools.netty_jars()
        port = free_port()
        sockets = []

        def order(number):
            if not sockets:
                sockets.append(socket.create_connection(("127.0.0.1", port)))
            try:
                sockets[0].sendall((24000).to_bytes(4, "big") + (b"X" if number % 5 == 0 else b"A") + os.urandom(23999))
            except OSError:
                sockets.clear()
                raise

        self.killed([*self.program("OrdersNeverReleased", "-Xmx160m", jars=jars), str(port)], 192,
                    load=lambda _: self.load(order), knows=["direct buffers"], right="[Dd]irect buffers|MaxDirectMemorySize")

    def test_26_the_queue_of_an_executor_has_no_bound(self):
        """amazon-archives/dynamodb-import-export-tool#6, apache/iotdb#17019."""
        self.killed(self.program("QueueOfAnExecutor", "-Xmx1g"), 224, knows=["OrderMail"],
                    right="^(?!.*does not fit).*(OrderMail|LinkedBlockingQueue)", is_right=False)


class Collector(CaseTest):
    """Public configurations; the backend accepts and never answers."""

    def collector(self, name):
        """(argv, the receiver's port): a configuration with ports of its own."""
        program = tools.supplied("collector_build.sh", "1.27", "pprof")
        port, backend = free_port(), free_port()
        with open(os.path.join(PROGRAMS, name), encoding="utf-8") as file:
            text = file.read().replace("29318", str(port)).replace("29997", str(backend))
        path = os.path.join(self.scratch, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        self.background(PYTHON, os.path.join(PROGRAMS, "blackhole.py"), str(backend))
        return [program, "--config", path], port

    def test_21_a_memory_limiter_above_the_limit(self):
        """open-telemetry/opentelemetry-collector#4981, #1121."""
        argv, port = self.collector("limiter_too_high.yaml")
        load = lambda _: self.background(PYTHON, os.path.join(tools.WORKLOADS, "otlp_sender.py"), str(port), "3000")
        self.killed(argv, 176, load=load, knows=["otlp_http/tempo"], right="otlp_http/tempo")

    def test_22_requests_wait_in_an_exporter_without_a_queue(self):
        """open-telemetry/opentelemetry-collector#1121."""
        argv, port = self.collector("no_queue.yaml")
        load = lambda _: self.background(PYTHON, os.path.join(PROGRAMS, "no_queue_load.py"), str(port))
        self.killed(argv, 176, load=load, knows=["bufio|otlp_http/loki"], right="otlp_http/loki", is_right=False)


if __name__ == "__main__":
    unittest.main()
