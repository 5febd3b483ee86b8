# SPDX-License-Identifier: Apache-2.0
"""Container images of one layer, written as docker-archive files: no registry, no engine, no tools."""
import hashlib
import io
import json
import os
import subprocess
import tarfile
import unittest

from . import fileio, tools

PAUSE = "localhost/pause:test"


def _add(tar, name, data, mode=0o644):
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(data), mode
    tar.addfile(info, io.BytesIO(data))


def _layer(files):
    """An uncompressed tar of {path in the image: path here}."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for directory in ("proc", "sys", "dev", "tmp", "etc"):
            info = tarfile.TarInfo(directory)
            info.type, info.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(info)
        for name, source in files.items():
            _add(tar, name.lstrip("/"), fileio.read_bytes(source), 0o755)
    return out.getvalue()


def write(path, reference, files, entrypoint):
    """`ctr image import` takes it. files: {path in the image: path here}, all executable."""
    layer = _layer(files)
    config = {"architecture": "amd64", "os": "linux", "config": {"Entrypoint": entrypoint, "Env": ["PATH=/"]},
              "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}
    manifest = [{"Config": "config.json", "RepoTags": [reference], "Layers": ["layer.tar"]}]
    with tarfile.open(path, "w") as tar:
        _add(tar, "layer.tar", layer)
        _add(tar, "config.json", json.dumps(config).encode())
        _add(tar, "manifest.json", json.dumps(manifest).encode())
    return path


_PAUSE_SOURCE = "#include <unistd.h>\nint main(void) { for (;;) pause(); }\n"


def pause_program():
    """What holds a pod's namespaces."""
    target = os.path.join(tools.CACHE, "workloads/pause")
    with tools.building():
        if not os.path.exists(target):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            subprocess.run(["gcc", "-Os", "-static", "-x", "c", "-", "-o", target + ".new"], input=_PAUSE_SOURCE, text=True,
                           check=True)
            os.rename(target + ".new", target)
    return target


_BUILD = os.path.join(tools.TREE, "deploy/image/build.sh")


def oomwitness_archive(reference):
    """The image of the binary under test; built once for each binary, script and name. Skips where it cannot be built."""
    digest = hashlib.sha256(reference.encode())
    for path in (tools.BINARY, _BUILD, _BUILD.replace("build.sh", "root.sh")):
        digest.update(fileio.read_bytes(path))
    target = os.path.join(tools.CACHE, f"images/oomwitness-{digest.hexdigest()[:16]}.tar")
    if os.path.exists(target):
        return target
    os.makedirs(os.path.dirname(target), exist_ok=True)
    done = subprocess.run([_BUILD, tools.BINARY, target, reference], capture_output=True, text=True)
    if done.returncode == 3:
        raise unittest.SkipTest(done.stderr.strip())
    if done.returncode:
        raise AssertionError(f"build.sh: {done.stdout}{done.stderr}")
    print(f"      {done.stdout.strip()}", flush=True)
    return target
