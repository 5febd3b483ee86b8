# SPDX-License-Identifier: Apache-2.0
"""Reads a gzipped pprof protobuf: enough to ask what is in it, without Go's tools."""
import gzip

from .protobuf import fields, read_varint

_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRINGS, _PERIOD, _COMMENT = 1, 2, 4, 5, 6, 12, 13


def _numbers(value):
    """A repeated integer field, packed or not."""
    if isinstance(value, int):
        return [value]
    found, at = [], 0
    while at < len(value):
        number, at = read_varint(value, at)
        found.append(number)
    return found


class Profile:
    """samples: [(values, [location id, leaf first])]; period: bytes from one sample to the next."""

    def __init__(self, compressed):
        self.samples, self._lines, self._names, strings, types, comments = [], {}, {}, [], [], []
        self.period = None
        for number, value in fields(gzip.decompress(compressed)):
            if number == _STRINGS:
                strings.append(value.decode(errors="replace"))
            elif number == _SAMPLE:
                self._add_sample(value)
            elif number == _LOCATION:
                self._add_location(value)
            elif number == _FUNCTION:
                function = dict(fields(value))
                self._names[function[1]] = function.get(2, 0)
            elif number == _SAMPLE_TYPE:
                types.append(dict(fields(value)).get(1, 0))
            elif number == _PERIOD:
                self.period = value
            elif number == _COMMENT:
                comments += _numbers(value)
        self._names = {function: strings[name] for function, name in self._names.items()}
        self.types = [strings[t] for t in types]
        self.comments = [strings[c] for c in comments]

    def _add_sample(self, data):
        values, locations = [], []
        for number, value in fields(data):
            if number == 1:
                locations += _numbers(value)
            elif number == 2:
                values += _numbers(value)
        self.samples.append((values, locations))

    def _add_location(self, data):
        identity, functions = 0, []
        for number, value in fields(data):
            if number == 1:
                identity = value
            elif number == 4:
                functions.append(dict(fields(value)).get(1, 0))
        self._lines[identity] = functions

    def total(self, kind="inuse_space"):
        column = self.types.index(kind)
        return sum(values[column] for values, _ in self.samples)

    def cumulative(self, kind="inuse_space"):
        """{function: bytes in stacks that hold it}."""
        column = self.types.index(kind)
        sums = {}
        for values, locations in self.samples:
            for name in {self._names.get(f, "") for l in locations for f in self._lines.get(l, [])}:
                sums[name] = sums.get(name, 0) + values[column]
        return sums

    def share_of(self, prefix, kind="inuse_space"):
        """Of the bytes, what lies in stacks with any function whose name begins with `prefix`."""
        column = self.types.index(kind)
        names = lambda locations: (self._names.get(f, "") for l in locations for f in self._lines.get(l, []))
        own = sum(v[column] for v, locations in self.samples if any(n.startswith(prefix) for n in names(locations)))
        return own / max(1, self.total(kind))

    def unnamed_share(self, kind="inuse_space"):
        """Of the bytes, what lies in stacks with a location that has no function's name."""
        column = self.types.index(kind)
        named = lambda l: any(self._names.get(f) for f in self._lines.get(l, []))
        dark = sum(values[column] for values, locations in self.samples if not all(map(named, locations)))
        return dark / max(1, self.total(kind))


def read(path):
    with open(path, "rb") as f:
        return Profile(f.read())
