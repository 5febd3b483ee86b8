# SPDX-License-Identifier: Apache-2.0
"""A data directory with incidents of every kind, made without a kill: what a page has to show."""
import copy
import gzip
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "e2e"))

from harness import fileio, protobuf  # noqa: E402 (the path to it is set above)

MIB = 1 << 20
FIXTURE = os.path.join(os.path.dirname(HERE), "fixtures/incidents/leak_with_endpoint.json")

# What a pod's owner, or the program in it, may choose as a name.
PAYLOADS = ["<img src=x onerror=\"window.owned=1\">", "</title><script>window.owned=1</script>", "\"><svg onload=window.owned=1>",
            "javascript:window.owned=1", "\u202egnp.exe", "\x1b[31mred\x1b]0;owned\x07", "{{constructor.constructor('window.owned=1')()}}",
            "'-window.owned=1-'", "[x](javascript:window.owned=1)", "![x](http://elsewhere.invalid/x.png)",
            "&lt;img src=x onerror=window.owned=1&gt;", "]]></style></text><script>window.owned=1</script>", "..%2F..%2F?cause=x&y#zoom=1",
            "a\r\nX-Injected: 1", "\x9b32mgreen\x85\u2028next"]


def profile(stacks, seconds=0, objects="inuse_objects", space="inuse_space"):
    """stacks: {("main.main", "main.leak"): bytes}, root first; each byte count is of objects of 1 MiB."""
    strings = {"": 0}

    def text(value):
        return strings.setdefault(value, len(strings))

    names = sorted({name for stack in stacks for name in stack})
    numbers = {name: i + 1 for i, name in enumerate(names)}
    kinds = [{1: text(objects), 2: text("count")}, {1: text(space), 2: text("bytes")}]
    samples = [{1: [numbers[name] for name in reversed(stack)], 2: [value // MIB, value]} for stack, value in stacks.items()]
    message = {1: kinds, 2: samples,
               4: [{1: number, 4: [{1: number, 2: 7}]} for number in numbers.values()],
               5: [{1: numbers[name], 2: text(name), 3: text(name), 4: text("main.go")} for name in names],
               9: 1_700_000_000 * 10 ** 9 + seconds * 10 ** 9, 11: {1: text("space"), 2: text("bytes")}, 12: 524288}
    message[6] = strings
    # An empty string is a string, too: the table begins with one.
    body = protobuf.encode({k: v for k, v in message.items() if k != 6})
    for value in strings:
        data = value.encode()
        body += bytes([6 << 3 | 2]) + _varint(len(data)) + data
    return gzip.compress(body)


def _varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes(out + bytes([number]))


def shop_stacks(leak, cache=9):
    handler = ("main.main", "net/http.(*Server).Serve", "net/http.(*conn).serve", "net/http.HandlerFunc.ServeHTTP",
               "main.(*Shop).checkout")
    return {handler + ("main.(*Cart).Add", "example.com/shop/store.(*Session).Keep"): leak * MIB,
            handler + ("encoding/json.Unmarshal",): 3 * MIB,
            ("main.main", "main.warmCache", "example.com/shop/cache.New"): cache * MIB,
            ("runtime.main", "runtime.doInit"): MIB}


def named_everywhere(name):
    """incident.json's members that hold what a program is made of, all of this name."""
    culprit = {"claim": "allocates", "code": name, "path": [name, name], "operation_kind": "endpoint", "operation": name, "share": 0.9, "bytes": 80 * MIB,
               "evidence": name}
    container = {"id": None, "name": name, "runtime": None, "image": name, "cgroup_path": name, "cgroup_id": 7}
    return {"container": container, "answer": {"sentence": name, "cause": "leak", "confidence": 0.9, "action": name, "again": name, "culprit": culprit},
            "operations": [{"kind": "endpoint", "name": name, "bytes": MIB, "share": 0.5, "growth_ratio": 2.0}],
            "fillers": [{"runtime": "cpython", "kind": "holder", "name": name, "held_as": name, "path": [name], "operation_kind": "endpoint", "operation": name,
                         "bytes": MIB, "share": 0.5, "evidence": "analysis"}],
            "holders": [{"share": 0.9, "bytes": MIB, "owner": True, "component": name, "chain": [name, name], "rooted_ratio": 0.9, "samples": 9, "total_samples": 10}],
            "goroutines": [{"count": 900, "state": name, "stack": [name, name]}], "goroutine_count": 900, "notes": [name],
            "growth": growth(name, note=name)}


def growth(*codes, note=""):
    """incident.json's growth{}: places of these functions, largest first, then a garbage collector's."""
    whole = 64 * MIB
    places = [{"code": code, "operation_kind": "endpoint", "operation": "main.(*Shop).checkout", "bytes": whole >> i + 1,
               "share": 0.5 ** (i + 1), "collector": False,
               "pattern": "one_off" if i else "persistent", "bytes_by_part": [whole >> i + 4] * 8} for i, code in enumerate(codes)]
    places.append({"bytes": MIB, "share": 1 / 64, "collector": True})
    stacks = [{"bytes": whole // 2, "share": 0.5, "complete": True, "frames": [*codes, "main.main"], "code": codes[0]}]
    return {"pid": 17, "as_of": "2026-11-21T04:02:58.000000000Z", "slot_bytes": 16384, "grown_bytes": whole, "samples": 2048, "lost": 3,
            "places": places, "stacks": stacks, "notes": [note] if note else [], "file": "growth.pb.gz"}


def contents(*files):
    """incident.json's analyses[] and composition{} of a program without a heap profile."""
    analysis = {"of": "jvm", "pid": 17, "time": "2026-11-21T04:03:58.000000000Z", "trigger": "watermark_95", "result": "ok", "reason": "", "detail": "",
                "duration_seconds": 0.1, "lead_seconds": 2.0, "files": [{"name": name} for name in files]}
    parts = [{"name": "Java heap", "runtime": "jvm", "bytes": 90 * MIB, "source": "the range of the G1 collector"}]
    return {"analyses": [analysis], "composition": {"named_ratio": 0.9, "as_of": analysis["time"], "parts": parts}}


def trend(*judgements):
    """incident.json's trend{} with a call site of each judgement."""
    def figures(judgement):
        return {"judgement": judgement, "readings": 5, "growth_share": 1.0, "first_live_bytes": MIB, "last_live_bytes": 9 * MIB, "first_held_bytes": MIB, "last_held_bytes": 9 * MIB}
    return {"pid": 17, "span_seconds": 30.0, "suspects": judgements.count("leak"), "whole": figures("leak"), "points": [],
            "sites": [{"frames": [f"main.site{i}", "main.main"], **figures(judgement)} for i, judgement in enumerate(judgements)]}


class Site:
    """The incidents below `folder`; add() returns an id."""

    def __init__(self, folder):
        self.folder = folder
        self._pattern = fileio.read_json(FIXTURE)

    def add(self, second, pod, cause="leak", namespace="shop", leak=80, with_profiles=True, stacks=None, **fields):
        """stacks: of both profiles, in place of a shop's."""
        incident = copy.deepcopy(self._pattern)
        time = f"2026-11-21T04:{second // 60:02d}:{second % 60:02d}"
        incident["id"] = f"{time.replace('-', '').replace(':', '')}Z-{second:08x}"
        incident["time"] = time + ".699924621Z"
        incident["container"].update(name="web", runtime="containerd", id="0" * 64, image="registry.example/shop:1.4.2")
        incident["pod"] = {"namespace": namespace, "name": pod, "uid": None, "node": "node-7", "labels": {}, "restart_count": 3}
        incident["verdict"]["cause"] = cause
        incident["series"] = self._series(time, incident["limit"]["bytes"])
        incident["answer"] = {
            "sentence": f"{pod} was killed at its limit of 128 MiB: sessions of checkout are never removed.",
            "cause": cause, "confidence": 0.9,
            "culprit": {"claim": "allocates", "code": "example.com/shop/store.(*Session).Keep (store.go:44)",
                        "path": ["main.(*Shop).checkout", "main.(*Cart).Add", "example.com/shop/store.(*Session).Keep"],
                        "operation_kind": "endpoint", "operation": "main.(*Shop).checkout", "share": 0.86, "bytes": leak * MIB,
                        "evidence": "capture-02-at_kill.pb.gz"},
            "action": "Give sessions an end: see store.go:44."}
        incident["operations"] = [{"kind": "endpoint", "name": "main.(*Shop).checkout", "bytes": leak * MIB, "share": 0.86, "growth_ratio": 4.0}]
        incident["fillers"] = [{"runtime": "go", "kind": "site", "name": "example.com/shop/store.(*Session).Keep (store.go:44)",
                                "path": [], "operation_kind": "endpoint", "operation": "main.(*Shop).checkout", "bytes": leak * MIB,
                                "share": 0.86, "evidence": "at_kill"}]
        incident["captures"] = self._captures(incident, with_profiles)
        incident.update(fields)
        place = os.path.join(self.folder, "incidents", f"{incident['id'][:16]}-shop-{second:08x}")
        os.makedirs(place)
        self._write(place, "incident.json", json.dumps(incident).encode())
        self._write(place, "report.md", b"# report\n")
        if (incident.get("growth") or {}).get("file"):
            self._write(place, incident["growth"]["file"], profile(shop_stacks(leak, 5)))
        for n, file in enumerate(file for analysis in incident.get("analyses", []) for file in analysis["files"]):
            self._write(place, file["name"], profile({("Java heap", "jvm", "com.acme.Session"): (60 - 20 * n) * MIB, ("metaspace",): 9 * MIB}, objects="objects", space="contents"))
        if with_profiles:
            self._write(place, "capture-01-live.pb.gz", profile(stacks or shop_stacks(leak // 4)))
            self._write(place, "capture-02-at_kill.pb.gz", profile(stacks or shop_stacks(leak, 6), 30))
        return incident["id"]

    @staticmethod
    def _series(time, limit):
        """A sample each second of the minute before, with a pause of an idle container and a gap, then the kill."""
        minute = int(time[14:16])
        ahead = f"{time[:14]}{minute - 1:02d}:"
        return [{"t": f"{ahead}{s:02d}.000000000Z", "usage_bytes": int(limit * (0.2 + 0.8 * s / 60)),
                 "nonreclaimable_bytes": int(limit * (0.15 + 0.8 * s / 60))} for s in range(60) if s == 0 or s in (10, 11) or s > 37]

    @staticmethod
    def _captures(incident, with_profiles):
        pattern, pid = incident["captures"][0], incident["victims"][0]["pid"]
        made = []
        for file, method, lead in (("capture-01-live.pb.gz", "live", 20.0), ("capture-02-at_kill.pb.gz", "at_kill", -0.01)):
            made.append({**pattern, "file": file, "method": method, "result": "ok", "reason": "", "complete": True, "lead_seconds": lead,
                         "pid": pid, "of": "go", "inuse_bytes": (80 if lead > 0 else 90) * MIB, "live_bytes": None,
                         "time": incident["series"][-20]["t"] if lead > 0 else incident["time"]})
        return made if with_profiles else []

    @staticmethod
    def _write(place, name, data):
        fileio.write(os.path.join(place, name), data)
