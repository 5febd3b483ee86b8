# SPDX-License-Identifier: Apache-2.0
"""Where the tested binary and its helpers come from."""
import contextlib
import fcntl
import functools
import glob
import os
import shutil
import struct
import subprocess
import tempfile
import unittest

from .wait import TIME_FACTOR

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
CACHE = os.environ.get("OOMW_CACHE", os.path.join(os.environ.get("HOME", "/root"), ".cache/oomwitness"))
WORKLOADS = os.path.join(TREE, "tests/workloads")
BINARY = os.environ.get("OOMWITNESS", os.path.join(TREE, "build/ci/userspace/oomwitness"))


def _is_fresh(target, sources):
    return os.path.exists(target) and all(os.path.getmtime(s) <= os.path.getmtime(target) for s in sources)


@contextlib.contextmanager
def building():
    """One builds at a time: classes of tests that run beside each other share the cache."""
    os.makedirs(CACHE, exist_ok=True)
    with open(os.path.join(CACHE, "build.lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(target, sources, command, cwd=None, env=None):
    with building():
        if not _is_fresh(target, sources):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            subprocess.run(command, check=True, cwd=cwd, env=env)
    return target


def _cc_program(name):
    source = os.path.join(WORKLOADS, name + ".cc")
    target = os.path.join(CACHE, "workloads", name)
    return _build(target, [source], ["g++", "-O1", "-static", "-o", target, source])


def memhog():
    return _cc_program("memhog")


def retention():
    """Dynamic: the library's data is where malloc's arenas are looked for."""
    source = os.path.join(WORKLOADS, "retention.c")
    return _build(os.path.join(CACHE, "workloads/retention"), [source],
                  ["gcc", "-O1", "-o", os.path.join(CACHE, "workloads/retention"), source])


def sessions():
    """A C++ program without symbols."""
    source = os.path.join(WORKLOADS, "sessions.cc")
    return _build(os.path.join(CACHE, "workloads/sessions"), [source],
                  ["g++", "-std=c++17", "-O1", "-s", "-o", os.path.join(CACHE, "workloads/sessions"), source])


def sessions_of(root):
    """The same program for the C and C++ libraries of a root and all later ones."""
    source = os.path.join(WORKLOADS, "sessions.cc")
    target = os.path.join(CACHE, "workloads/sessions-" + os.path.basename(root))
    libraries = [os.path.join(root, folder, "x86_64-linux-gnu", name) for folder, name in (
        ("usr/lib", "libstdc++.so.6"), ("lib", "libgcc_s.so.1"), ("lib", "libm.so.6"), ("lib", "libc.so.6"))]
    return _build(target, [source], ["g++", "-std=c++17", "-O1", "-s", "-nodefaultlibs", "-o", target, source, *libraries])


def pythons(minors):
    """CPython 3.N by its N: the system's, else one that pyenv has installed for root."""
    found = {}
    for minor in minors:
        paths = [f"/usr/bin/python3.{minor}"] + glob.glob(f"/root/.pyenv/versions/3.{minor}.*/bin/python3")
        found.update({minor: path for path in paths[::-1] if os.access(path, os.X_OK)})
    return found


def growth_paths():
    """Dynamic and with symbols, as most programs are."""
    source = os.path.join(WORKLOADS, "growpaths.c")
    target = os.path.join(CACHE, "workloads/growpaths")
    return _build(target, [source], ["gcc", "-O1", "-o", target, source])


def threadhog():
    return _cc_program("threadhog")


def filehog():
    return _cc_program("filehog")


def patterns():
    return _cc_program("patterns")


def java_case(name, jars=""):
    """The folder with the classes of a program of workloads/cases."""
    classes, source = os.path.join(CACHE, "workloads", "cases"), os.path.join(WORKLOADS, "cases", name + ".java")
    _build(os.path.join(classes, name + ".class"), [source], ["javac", "-cp", jars or ".", "-d", classes, source])
    return classes


def netty_jars():
    jars = ":".join(jar for part in ("buffer", "codec", "common", "handler", "resolver", "transport")
                    for jar in glob.glob(f"/usr/share/java/netty-{part}.jar"))
    if not jars:
        raise unittest.SkipTest("there is no netty (libnetty-java)")
    return jars


def rust_sessions():
    source = os.path.join(WORKLOADS, "answers/rust/sessions.rs")
    target = os.path.join(CACHE, "workloads/sessions-rust")
    if not shutil.which("rustc") and not _is_fresh(target, [source]):  # a VM has what its host has built
        raise unittest.SkipTest("no rustc on this machine")
    return _build(target, [source], ["rustc", "--edition=2021", "-O", "-o", target, source])


def go_env():
    return dict(os.environ, GOCACHE=os.path.join(CACHE, "go-build"), GOTOOLCHAIN="local", GOFLAGS="-mod=mod",
                GOPROXY="off", HOME=os.environ.get("HOME", "/root"))


def leaky_go():
    folder = os.path.join(WORKLOADS, "leaky-go")
    sources = [os.path.join(folder, f) for f in os.listdir(folder) if f.endswith(".go") or f == "go.mod"]
    target = os.path.join(CACHE, "workloads/leaky-go")
    return _build(target, sources, ["go", "build", "-o", target, "."], cwd=folder, env=go_env())


def supplied(script, *arguments):
    """The path that a script of tests/support prints; skips with the script's reason where it has none."""
    with building():
        done = subprocess.run([os.path.join(TREE, "tests/support", script), *arguments], capture_output=True, text=True)
    if done.returncode == 3:
        raise unittest.SkipTest(done.stderr.strip().splitlines()[-1])
    if done.returncode != 0:
        raise AssertionError(f"{script} {' '.join(arguments)}: {done.stderr}")
    return done.stdout.strip()


@functools.lru_cache(maxsize=None)
def go_program(version, variant, folder="leaky-go"):
    """A program of tests/workloads, built by that Go with tests/support/go_build.sh; skips where it cannot be built or run."""
    if variant.startswith("386"):
        need_32_bit()
    return supplied("go_build.sh", version, variant, os.path.join(WORKLOADS, folder))


@functools.lru_cache(maxsize=None)
def kubectl():
    return supplied("kubectl.sh")


# ELF32 of one page (System V ABI, i386): exit(0) by the gate that 32-bit programs have, `int 0x80`.
_NARROW = (struct.pack("<4s5B7x2H5I6H", b"\x7fELF", 1, 1, 1, 0, 0, 2, 3, 1, 0x10054, 52, 0, 0, 52, 32, 1, 40, 0, 0)
           + struct.pack("<8I", 1, 0, 0x10000, 0x10000, 0x60, 0x60, 5, 4096) + b"\x31\xdb\x8d\x43\x01\xcd\x80")


@functools.lru_cache(maxsize=None)
def need_32_bit():
    """Skips where this machine executes no 32-bit program: a kernel's configuration does not tell."""
    with tempfile.TemporaryDirectory(prefix="oomw-e2e-") as folder:
        path = os.path.join(folder, "narrow")
        with open(path, "wb") as f:
            f.write(_NARROW)
        os.chmod(path, 0o755)
        try:
            code = subprocess.run([path], check=False).returncode
        except OSError as e:
            raise unittest.SkipTest(f"this machine executes no 32-bit program: {e.strerror}") from None
    if code != 0:
        raise unittest.SkipTest(f"this machine executes no 32-bit program: one that exits with 0 ended with {code}")


def memhog32():
    need_32_bit()
    source = os.path.join(WORKLOADS, "memhog32.c")
    target = os.path.join(CACHE, "workloads/memhog32")
    flags = "-m32 -O1 -ffreestanding -fno-stack-protector -fno-pie -no-pie -nostdlib -static".split()
    try:
        return _build(target, [source], ["gcc", *flags, "-o", target, source])
    except (OSError, subprocess.CalledProcessError) as e:
        raise unittest.SkipTest(f"no compiler for a 32-bit program: {e}") from None


def hostile_endpoint():
    return os.path.join(WORKLOADS, "hostile_endpoint.py")


def find_program(name):
    """From PATH, or where deploy/install-deps.sh unpacks it; None if nowhere."""
    private = os.path.join(CACHE, "prometheus/usr/bin", name)
    return shutil.which(name) or (private if os.access(private, os.X_OK) else None)


def needed(name):
    found = find_program(name)
    if not found:
        raise unittest.SkipTest(f"no {name} (deploy/install-deps.sh tests fetches it)")
    return found


def promtool_check(metrics):
    """(exit status, what it says) of `promtool check metrics`."""
    done = subprocess.run([needed("promtool"), "check", "metrics"], input=metrics, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def pprof_top(profile):
    """What a user sees: `go tool pprof -top`, without the binary. [(flat %, function)], best first."""
    env = dict(go_env(), PPROF_TMPDIR=os.path.join(CACHE, "pprof"), PPROF_BINARY_PATH="/nonexistent")
    out = subprocess.run(["go", "tool", "pprof", "-top", "-sample_index=inuse_space", profile],
                         check=True, capture_output=True, text=True, env=env, timeout=60 * TIME_FACTOR).stdout
    rows = [line.split() for line in out.split("flat%")[1].splitlines()[1:]]
    return [(float(row[1].rstrip("%")), row[5]) for row in rows if len(row) > 5]


def pprof_comments(profile):
    """The comments of a profile as `go tool pprof -comments` prints them."""
    env = dict(go_env(), PPROF_TMPDIR=os.path.join(CACHE, "pprof"), PPROF_BINARY_PATH="/nonexistent")
    return subprocess.run(["go", "tool", "pprof", "-comments", profile], check=True, capture_output=True, text=True,
                          env=env, timeout=60 * TIME_FACTOR).stdout


def read_ahead(path):
    """A program's file, or all files below a folder: pages that are in memory before belong to no container. Else a
    container near its limit pays for the code of what runs in it: the kernel drops that, which is read again at once, and for
    minutes there is neither progress nor a kill (seen with a JVM whose files no one had read since the machine's start)."""
    paths = [path]
    if os.path.isdir(path):
        paths = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
    for one in paths:
        try:
            with open(one, "rb") as f:
                while f.read(1 << 20):
                    pass
        except OSError:
            pass  # a link to nothing


@functools.lru_cache(maxsize=None)
def java_workload():
    """(java, folder with the class Filler for Java 8 and later); skips where no JDK is installed."""
    java, javac = shutil.which("java"), shutil.which("javac")
    if not java or not javac:
        raise unittest.SkipTest("no java and javac on this machine")
    source = os.path.join(WORKLOADS, "java/Filler.java")
    folder = os.path.join(CACHE, "workloads/java-8")
    _build(os.path.join(folder, "Filler.class"), [source], [javac, "-Xlint:-options", "--release", "8", "-d", folder, source])
    return java, folder
