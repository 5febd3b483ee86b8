# SPDX-License-Identifier: Apache-2.0
"""A real OpenTelemetry Collector on loopback that prints what it received, and what it printed as values."""
import os
import re

from . import fileio, tools
from .daemon import free_port
from .logged_server import LoggedServer

CONFIG = """
receivers:
  otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}
exporters:
  debug: {{verbosity: {verbosity}}}
service:
  telemetry: {{logs: {{level: info}}, metrics: {{level: none}}}}
  pipelines:
    logs: {{receivers: [otlp], exporters: [debug]}}
    metrics: {{receivers: [otlp], exporters: [debug]}}
    profiles: {{receivers: [otlp], exporters: [debug]}}
"""
ATTRIBUTE = re.compile(r"     -> ([A-Za-z0-9_.]+): (\w+\(.*\))$")
FIELD = re.compile(r"(ObservedTimestamp|Timestamp|StartTimestamp|SeverityText|SeverityNumber|EventName|Body|Value): (.*)$")
METRIC = re.compile(r"     -> (Name|Unit|DataType|IsMonotonic|AggregationTemporality): (.*)$")


PROFILE_ID = re.compile(r"    Profile ID     : ([0-9a-f]*)$")
VALUES = re.compile(r"        Values: \[(-?[0-9]+)\]$")


class Received:
    """A log record or a data point: attributes as the Collector prints them, "Int(5)", "Str(x)"."""

    def __init__(self, resource, scope, metric=None):
        self.resource, self.scope, self.metric = resource, scope, metric
        self.attributes, self.fields = {}, {}


class ReceivedProfile:
    """`values`: one of each sample, as far as it is printed."""

    def __init__(self, resource, scope):
        self.resource, self.scope, self.id, self.values = resource, scope, None, []


class _Reader:
    """One line of the debug exporter's output after the other."""

    def __init__(self):
        self.resource, self.scope, self.metric, self.current, self.target = {}, "", {}, None, {}
        self.found, self.profiles = [], []

    def take(self, line):
        if line.startswith(("ResourceLog #", "ResourceMetrics #", "ResourceProfiles #", "Attribute table:")):
            self.resource, self.current, self.target = {}, None, {}
        elif line.startswith("Profile #"):
            self.profiles.append(ReceivedProfile(self.resource, self.scope))
        elif PROFILE_ID.match(line):
            self.profiles[-1].id = PROFILE_ID.match(line)[1]
        elif VALUES.match(line):
            self.profiles[-1].values.append(int(VALUES.match(line)[1]))
        elif line.startswith("Resource attributes:"):
            self.target = self.resource
        elif line.startswith("InstrumentationScope "):
            self.scope = line.removeprefix("InstrumentationScope ")
        elif line.startswith("Metric #"):
            self.metric, self.current = {}, None
        elif line.startswith(("LogRecord #", "NumberDataPoints #")):
            self.current = Received(self.resource, self.scope, self.metric if line.startswith("Number") else None)
            self.target = self.current.attributes
        else:
            self.take_value(line)

    def take_value(self, line):
        if self.current is None and METRIC.match(line):
            name, value = METRIC.match(line).groups()
            self.metric[name] = value
        elif ATTRIBUTE.match(line):
            key, value = ATTRIBUTE.match(line).groups()
            assert key not in self.target, f"{key} twice"
            self.target[key] = value
        elif self.current is not None and FIELD.match(line):
            key, value = FIELD.match(line).groups()
            self.current.fields[key] = value
        # What stands last in each: one that is printed in part is not found yet.
        if self.current is not None and line.startswith(("Flags: ", "Value: ")):
            self.found.append(self.current)
            self.current, self.target = None, {}


class OtelCollector(LoggedServer):
    def __init__(self, scratch, verbosity="detailed"):
        binary = tools.supplied("collector_build.sh", "1.27", "pprof")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        config = os.path.join(scratch, "otelcol.yaml")
        fileio.write(config, CONFIG.format(port=self.port, verbosity=verbosity))
        super().__init__([binary, "--config", "file:" + config, "--feature-gates=service.profilesSupport"],
                         os.path.join(scratch, "otelcol.log"), lambda text: "Everything is ready" in text, "a Collector", 30)

    def _received(self):
        reader = _Reader()
        for line in self.text().splitlines():
            reader.take(line.split("\tinfo\t")[-1])  # the first line of each begins with a time
        return reader

    # All so far, in the order in which they came.

    def logs(self):
        return [r for r in self._received().found if r.metric is None]

    def points(self):
        return [r for r in self._received().found if r.metric is not None]

    def profiles(self):
        return self._received().profiles
