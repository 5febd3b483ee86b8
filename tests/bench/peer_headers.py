# SPDX-License-Identifier: Apache-2.0
"""Kernel headers for tools that compile C for the kernel they run on."""
import os
import platform
import subprocess

from bench_support import tools


def _folder(release):
    return os.path.join(tools.CACHE, "peers", release)


def fetch_headers(release):
    """Into our cache, nothing installed. Without them the tools that need them fail with that message."""
    target = _folder(release)
    if os.path.isdir(target):
        return
    scratch = target + ".new"
    os.makedirs(scratch, exist_ok=True)
    common = release.split("-cloud")[0] + "-common"
    fetched = subprocess.run(["apt-get", "download", "-q", f"linux-headers-{release}", f"linux-headers-{common}"], cwd=scratch,
                             capture_output=True, text=True)
    debs = [n for n in os.listdir(scratch) if n.endswith(".deb")]
    if fetched.returncode == 0 and all(subprocess.run(["dpkg", "-x", d, "."], cwd=scratch).returncode == 0 for d in debs):
        os.rename(scratch, target)


def use_headers():
    """For tools that compile C for this kernel: Debian's headers, which fetch_headers() unpacked before the VM
    started, put where they are expected. In a VM only, where every write is thrown away."""
    release = platform.release()
    where = f"/lib/modules/{release}"
    source = os.path.join(_folder(release), "usr/src")
    if os.path.exists(where + "/build") or not os.path.isdir(source):
        return
    os.makedirs(where, exist_ok=True)
    for name in os.listdir(source):
        os.symlink(os.path.join(source, name), where + ("/source" if name.endswith("common") else "/build"))
