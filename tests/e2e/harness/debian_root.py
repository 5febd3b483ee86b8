# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian that run in a root of their own (tests/support/debian_root.sh), by chroot."""
import functools
import os

from . import tools

# The interpreters that each suite has, and nothing that they can do without.
VERSIONS = {
    "bullseye": ("python3.9-minimal", "openjdk-11-jre-headless", "libstdc++6"),
    "trixie": ("python3.13-minimal", "nodejs", "openjdk-21-jre-headless"),
    "sid": ("python3.14-minimal", "nodejs", "openjdk-25-jre-headless", "openjdk-8-jre-headless"),
}

# Its own mounts end with it. The root stays as it is; files that the program writes are pages of ours, not of a tmpfs.
_ENTER = """set -e
mount --bind "$ROOT" "$ROOT" && mount -o remount,bind,ro "$ROOT"
mount -t proc proc "$ROOT/proc" && mount --bind /dev "$ROOT/dev"
mount --bind "$WORK/mnt" "$ROOT/mnt" && mount --bind "$WORK/tmp" "$ROOT/tmp"
exec env -i PATH=/usr/bin:/bin:/usr/sbin:/sbin HOME=/tmp LANG=C.UTF-8 chroot "$ROOT" "$@"
"""


@functools.lru_cache(maxsize=None)
def root_of(suite):
    """The folder with a suite's interpreters; skips with the reason where it cannot be had."""
    return tools.supplied("debian_root.sh", "--suite", suite, f"versions-{suite}", *VERSIONS[suite])


def make_folder(folder):
    """With what the program sees as /mnt and /tmp. Returns its /mnt."""
    for name in ("mnt", "tmp"):
        os.makedirs(os.path.join(folder, name))
    return os.path.join(folder, "mnt")


def entering(root, folder, argv):
    """(command, environment) that run argv in that root; the process is the program itself."""
    return ["unshare", "--mount", "sh", "-c", _ENTER, "sh", *argv], {"ROOT": root, "WORK": folder}
