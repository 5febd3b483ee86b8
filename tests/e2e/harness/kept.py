# SPDX-License-Identifier: Apache-2.0
"""With OOMW_KEEP_IN=DIRECTORY every test leaves there what its daemons recorded and wrote, for tests/compare.sh and
tests/pipeline/recordings: only of the test's own cgroups, and without the names of this machine."""
import json
import os

from . import fileio, tools

DIRECTORY = os.environ.get("OOMW_KEEP_IN")
MAX_FILE = 64 << 10
CGROUP_KEYS = ("cgroup", "leaf_cgroup", "trigger_cgroup", "owner_cgroup")
CACHE = os.environ.get("OOMW_CACHE", os.path.expanduser("~/.cache/oomwitness"))


def anonymous(data, test):
    """Bytes of a file; what is compressed has no such names but in its strings, which stay."""
    for there, here in ((CACHE, "/opt/test"), (test.scratch, "/tmp/test"), (test.prefix, "test-"), (tools.TREE, "/src"),
                        (os.path.expanduser("~"), "/home")):
        for name in (there, there.replace("_", "\\_")):  # the second as report.md has it
            data = data.replace(name.encode(), here.encode())
    return data


def is_of(test, path):
    return any(path == cgroup.path or path.startswith(cgroup.path + "/") for cgroup in test.cgroups)


def trimmed(recording, test):
    """Its events of the test's cgroups."""
    ids = set()
    with open(recording, "rb") as lines:
        for line in lines:
            event = json.loads(line)
            if event["type"] == "cgroup_created" and is_of(test, event["path"]):
                ids.add(event["cgroup"])
            if event["type"] in ("recording", "lost") or any(event.get(key) in ids for key in CGROUP_KEYS):
                yield anonymous(line, test)


def keep(test):
    os.makedirs(os.path.join(DIRECTORY, "recordings"), exist_ok=True)
    for number, recording in enumerate(test.recordings):
        if os.path.exists(recording):
            lines = list(trimmed(recording, test))
            if any(b'"type":"oom_kill"' in line for line in lines):
                fileio.write(os.path.join(DIRECTORY, "recordings", f"{test.id()}-{number}.jsonl"), b"".join(lines))
    for data_dir in {daemon.data_dir for daemon in test.daemons}:
        keep_incidents(os.path.join(data_dir, "incidents"), test)


def keep_incidents(incidents, test):
    if not os.path.isdir(incidents):
        return
    for name in os.listdir(incidents):
        source = os.path.join(incidents, name)
        try:
            path = json.loads(fileio.read(os.path.join(source, "incident.json")))["container"]["cgroup_path"] or ""
        except (OSError, ValueError):
            continue  # being written, or a test's own damage
        if not is_of(test, path):
            continue
        copy(source, os.path.join(DIRECTORY, "incidents", name.replace(test.prefix, "test-")), test)


def copy(source, target, test):
    """An incident without large files and without the names of this machine. test: what has a scratch and a prefix."""
    os.makedirs(target, exist_ok=True)
    for file in os.listdir(source):
        its = os.path.join(source, file)
        if os.path.isfile(its) and not os.path.islink(its) and os.path.getsize(its) <= MAX_FILE:
            fileio.write(os.path.join(target, file), anonymous(fileio.read_bytes(its), test))
