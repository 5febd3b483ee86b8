# SPDX-License-Identifier: Apache-2.0
"""The text exposition format 0.0.4, read strictly: what we cannot parse, Prometheus cannot."""
import re
import urllib.error
import urllib.request

from .wait import TIME_FACTOR

_SAMPLE = re.compile(r'^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: -?\d+)?$')
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)')
_ESCAPES = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


class Scrape:
    """One reading of /metrics: the one node that each sample names, and samples by family, their labels without the node's."""

    def __init__(self, text):
        self.text = text
        parsed = [_parse(line) for line in text.split("\n") if line and not line.startswith("#")]
        self.node, = {labels.pop("k8s_node_name") for _, labels, _ in parsed}
        self._samples = {}
        for name, labels, value in parsed:
            self._samples.setdefault(name, []).append((labels, value))

    def values(self, name, **labels):
        """[(labels, value)]. A label that no sample of the family has is refused: it was renamed, and would match nothing."""
        samples = self._samples.get(name, [])
        unknown = set(labels).difference(*(l for l, _ in samples))
        if samples and unknown:
            raise AssertionError(f"{name} has no label {unknown}: {samples[0]}")
        return [(l, v) for l, v in samples if all(l.get(k) == w for k, w in labels.items())]

    def sum(self, name, **labels):
        return sum(v for _, v in self.values(name, **labels))

    def families(self):
        return {line.split(" ")[2] for line in self.text.split("\n") if line.startswith("# TYPE ")}

    def kills(self, container_prefix):
        """oom_kills_total over the containers whose name starts so."""
        return sum(v for l, v in self.values("oomwitness_oom_kills_total")
                   if l["k8s_container_name"].startswith(container_prefix))


def _parse(line):
    match = _SAMPLE.match(line)
    if not match:
        raise AssertionError(f"not a sample: {line!r}")
    name, labels, value = match.groups()
    parsed, at = {}, 0
    while labels and at < len(labels):
        label = _LABEL.match(labels, at)
        if not label:
            raise AssertionError(f"bad labels in {line!r}")
        parsed[label[1]] = re.sub(r'\\["\\n]', lambda m: _ESCAPES[m[0]], label[2])
        at = label.end()
    return name, parsed, float(value)


def get(url, timeout_s=10):
    """(status, body as str). Loopback only: no proxy is asked."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, timeout=timeout_s * TIME_FACTOR) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()
