# SPDX-License-Identifier: Apache-2.0
"""deploy/systemd/oomwitness.service, read."""
import os
import subprocess

from harness import fileio, tools

PATH = os.path.join(tools.TREE, "deploy/systemd/oomwitness.service")


def text():
    return fileio.read(PATH)


def values(key):
    """Of all lines KEY=..., in order."""
    return [line.split("=", 1)[1] for line in text().splitlines() if line.startswith(key + "=")]


def capabilities():
    """As setpriv and manifests name them: {"SYS_ADMIN", ...}."""
    return {word.removeprefix("CAP_") for value in values("CapabilityBoundingSet") for word in value.split()}


def with_capabilities(names):
    """A command prefix: uid 0 with these, and nothing to gain by execve."""
    wanted = "".join(f",+{name.lower()}" for name in sorted(names))
    return ["setpriv", "--no-new-privs", "--inh-caps=-all", f"--bounding-set=-all{wanted}"]


def system_calls():
    """All that the unit's filter lets pass: allow lines first, then "~" takes away."""
    allowed = set()
    for value in values("SystemCallFilter"):
        is_denied = value.startswith("~")
        names = {call for word in value.lstrip("~").split() for call in expand(word)}
        allowed = allowed - names if is_denied else allowed | names
    return allowed


def expand(word):
    if not word.startswith("@"):
        return {word}
    listing = subprocess.run(["systemd-analyze", "syscall-filter", word], check=True, capture_output=True, text=True)
    words = [line.strip() for line in listing.stdout.splitlines()[1:]]
    return {call for w in words if w and not w.startswith("#") for call in expand(w)}
