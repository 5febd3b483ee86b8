# SPDX-License-Identifier: Apache-2.0
"""A real Collector as a command of the corpus, with what loads it and what it exports to, both outside of its cgroup.

collector --rate R --backend alive|dead [--answer-seconds S] [--batch-seconds S] [--rate-2 R --rate-2-after S]
          [--burst-after S --burst-requests N --burst-senders N]
"""
import argparse
import os
import subprocess
import sys
import threading

from bench_support import tools

CONFIG = """
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:4318"}}}}}}
processors:
  batch: {{timeout: {batch_seconds}s, send_batch_size: {batch_size}}}
exporters:
  otlp_http:
    endpoint: http://127.0.0.1:{backend}
    compression: none
    retry_on_failure: {{enabled: true, initial_interval: 1s, max_interval: 5s, max_elapsed_time: 0s}}
    sending_queue: {{enabled: true, queue_size: 100000, num_consumers: 2}}
service:
  telemetry: {{logs: {{level: error}}}}
  pipelines:
    traces: {{receivers: [otlp], processors: [batch], exporters: [otlp_http]}}
"""
BACKEND = {"alive": 4999, "dead": 4998}  # nothing listens on the second


def parse(arguments):
    parser = argparse.ArgumentParser(prog="collector")
    parser.add_argument("--rate", type=float, required=True, help="spans a second")
    parser.add_argument("--backend", choices=BACKEND, required=True)
    parser.add_argument("--answer-seconds", type=float, default=0, help="that a backend which is alive takes for each batch")
    parser.add_argument("--batch-seconds", type=float, default=0.2)
    parser.add_argument("--rate-2", type=float, default=0, help="spans a second on top")
    parser.add_argument("--rate-2-after", type=float, default=0)
    parser.add_argument("--burst-after", type=float, default=0)
    parser.add_argument("--burst-requests", type=int, default=1, help="that each sender puts into one body")
    parser.add_argument("--burst-senders", type=int, default=0)
    return parser.parse_args(arguments)


class Companions:
    """Programs of tests/workloads that run in the network namespace of a process, now or later, until close()."""

    def __init__(self, output):
        self._output, self._programs, self._timers = output, [], []

    def start(self, work, program, *arguments):
        with open(self._output, "ab") as output:
            self._programs.append(subprocess.Popen(
                ["nsenter", f"--net=/proc/{work.pid}/ns/net", sys.executable, os.path.join(tools.WORKLOADS, program),
                 *arguments], stdin=subprocess.DEVNULL, stdout=output, stderr=output))

    def start_after(self, seconds, work, program, *arguments):
        timer = threading.Timer(seconds, self.start, (work, program, *arguments))
        timer.daemon = True
        self._timers.append(timer)
        timer.start()

    def close(self):
        for timer in self._timers:
            timer.cancel()
            timer.join()
        for program in self._programs:
            program.kill()
            program.wait()


class Collector:
    """What belongs to one Collector: its configuration, and, once it runs, load and backend in its network namespace."""

    def __init__(self, arguments, scratch, name):
        self.options = parse(arguments)
        self.config = os.path.join(scratch, f"{name}.yaml")
        self._companions = Companions(os.path.join(scratch, f"{name}.load"))
        self.close = self._companions.close
        with open(self.config, "w", encoding="utf-8") as f:
            batch_size = 512 if self.options.batch_seconds < 1 else 1_000_000
            f.write(CONFIG.format(backend=BACKEND[self.options.backend], batch_seconds=self.options.batch_seconds,
                                  batch_size=batch_size))

    def argv(self):
        return [tools.supplied("collector_build.sh", "1.27", "pprof"), "--config", f"file:{self.config}"]

    def attach(self, work):
        """Once the process has its network namespace. Senders that are early are refused and go on."""
        o, companions = self.options, self._companions
        work.wait_running()
        if o.backend == "alive":
            companions.start(work, "otlp_sink.py", str(BACKEND["alive"]), str(o.answer_seconds))
        companions.start(work, "otlp_sender.py", "4318", str(o.rate))
        if o.rate_2:
            companions.start_after(o.rate_2_after, work, "otlp_sender.py", "4318", str(o.rate_2))
        for _ in range(o.burst_senders):
            companions.start_after(o.burst_after, work, "otlp_sender.py", "4318", "1000000",
                                   f"--requests-in-one={o.burst_requests}")
