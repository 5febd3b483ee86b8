# SPDX-License-Identifier: Apache-2.0
"""The configurations of collectors.py: for each of collectors/*.yaml the limit, the load, and who it is by construction."""
import dataclasses
import os

from bench_support import HERE

FOLDER = os.path.join(HERE, "collectors")
FLAT_OUT = "1000000"


@dataclasses.dataclass(frozen=True)
class Case:
    """Components are KIND/ID, as the configuration has them. The load is [(seconds from the start, program, arguments)]."""

    name: str
    limit_mib: int
    load: tuple
    right: tuple  # any of these is the truth; more than one where one waits for the other
    never: tuple = ()  # not to be in the sentence at all: it is healthy, or gives back
    excused: tuple = ()  # true in a sense, and of no help to who has to act: neither right nor wrong
    variant: str = "pprof"  # of collector_build.sh
    environment: dict = dataclasses.field(default_factory=dict)
    seconds: float = 150.0  # until its kill, at the latest
    is_healthy: bool = False  # what runners of the corpus ask

    @property
    def expected(self):
        return self.right

    @property
    def config(self):
        return os.path.join(FOLDER, self.name + ".yaml")


def sink(port, seconds=0.0, status=200):
    return (0.0, "otlp_sink.py", str(port), str(seconds), str(status))


def send(rate, *options, port=4318, after=0.0):
    return (after, "otlp_sender.py", str(port), str(rate), *options)


def each(count, *options, first=0.0, apart_s=0.0, **of_send):
    """So many senders, each with one request under way at all times."""
    return tuple(send(FLAT_OUT, *options, after=first + n * apart_s, **of_send) for n in range(count))


HANGS = 600.0
CASES = (
    Case("backend_refuses", 128, (send(1500),), ("exporter/otlp_http/tempo",), environment={"GOMEMLIMIT": "110MiB"}),
    Case("backend_unresolved", 160, (send(2000),), ("exporter/otlp_grpc/jaeger",), variant="nopprof"),
    Case("fanout_one_dead", 128, (sink(4999), send(1500)), ("exporter/otlp_http/archive",), ("exporter/otlp_http/grafana",)),
    Case("fanout_slow_keeps", 160, (sink(4997, 3), send(2000)), ("exporter/otlp_http/primary",),
         ("exporter/otlp_http/mirror",), variant="nopprof"),
    Case("batch_hoards", 144, (sink(4999), send(1500)), ("processor/batch/objects",), ("exporter/otlp_http",)),
    Case("batch_of_each_tenant", 128, (sink(4999), send(1500, "--tenants=400")), ("processor/batch/tenants",),
         ("exporter/otlp_http/alive",)),
    Case("two_batches", 144, (sink(4999), send(1500)), ("processor/batch/archive",),
         ("processor/batch/live", "exporter/otlp_http/live", "exporter/otlp_http/archive"),
         environment={"GOMEMLIMIT": "120MiB"}),
    Case("exporter_batches", 128, (sink(4999), send(1500)), ("exporter/otlp_http/lake",), variant="nopprof"),
    Case("backend_hangs", 192, (sink(4997, HANGS), send(1500)), ("exporter/otlp_http/vendor",)),
    Case("queue_off", 192, (sink(4997, 3), *each(30, "--requests-in-one=4", apart_s=1.5)), ("exporter/otlp_http/slow",),
         excused=("receiver/otlp",)),
    Case("batch_blocked", 144, (sink(4997, 0, 503), *each(8, "--requests-in-one=2")),
         ("exporter/otlp_http/overloaded", "processor/batch"), excused=("receiver/otlp",)),
    Case("logs_rate_limited", 150, (sink(4999), sink(4997, 0, 429), send(500), send(1500, "--logs")),
         ("exporter/otlp_http/vendor",), ("exporter/otlp_http/tempo",)),
    Case("bytes_queue_slow", 160, (sink(4997, 1.5), send(2200, "--logs")), ("exporter/otlp_http/loki",)),
    Case("giant_requests", 160, (send(300), *each(6, "--requests-in-one=24", first=15.0)), ("receiver/otlp",),
         ("exporter/debug",)),
    Case("grpc_backpressure", 144, (sink(4997, HANGS), *each(8, "--grpc", "--requests-in-one=2", port=4317)),
         ("exporter/otlp_http/central", "processor/batch"), excused=("receiver/otlp",)),
    Case("stdout_stalled", 128, (sink(4999), send(1500)), ("exporter/debug/console",), ("exporter/otlp_http/tempo",)),
)
