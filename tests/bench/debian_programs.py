#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What fills programs that nobody here wrote: Debian's own, each killed by the kernel at its real work.

Prints for each the runtime that was named, how much of its anonymous memory has a name at the last reading, and the top
three fillers. The programs lie in roots of their own (tests/support/debian_root.sh) and are run by chroot.
"""
import contextlib
import dataclasses
import os
import shutil
import socket
import sys
import time
import unittest
import urllib.request
from typing import Callable

import debian_inputs as inputs
from bench_support import (MIB, Bars, MemoryCgroup, Site, Workload, parsed, print_conditions, runs_parser, settled_incident,
                           table, tools)

from harness.daemon import free_port
from harness.debian_root import entering, make_folder
from harness.wait import NotInTime, eventually
from harness.workload import Load

NAMED_BAR = 0.9
DEADLINE_S = 300.0
JAVA = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"
NODE = ("/usr/bin/node", "--max-old-space-size=4096")  # V8 would end itself before the limit else
PACKAGES = {
    "python": ("pylint", "python3-sphinx"),
    "java": ("openjdk-17-jdk-headless", "ant", "tomcat10", "tomcat10-examples"),
    "node": ("nodejs", "rollup", "webpack", "node-typescript"),
    "cxx": ("clang-14", "g++-12", "z3", "mariadb-server-core"),
    "c": ("sqlite3", "gawk", "redis-server"),
    "rust": ("rust-coreutils", "ripgrep"),
}


@dataclasses.dataclass(frozen=True)
class Place:
    port: int
    folder: str  # the program's /mnt


@dataclasses.dataclass(frozen=True)
class Program:
    """root: of PACKAGES. prepare fills the folder that the program sees as /mnt. step is called until the kill."""

    name: str
    root: str
    runtime: str  # what it should be named as
    limit_mib: int
    argv: tuple
    prepare: Callable
    step: Callable = lambda place, number: time.sleep(0.2)


_opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def create_session(place, number):
    """A visitor without a cookie who stores something: Tomcat keeps it for half an hour."""
    path = f"/examples/servlets/servlet/SessionExample?dataname=basket{number}&datavalue={'v' * 6000}"
    with _opener.open(f"http://127.0.0.1:{place.port}{path}", timeout=10) as answer:
        answer.read()


class Redis:
    """Keys that never expire, over one connection: 20 MiB/s at most, so that there is time to read it."""

    KEYS = 100

    def __init__(self):
        self.connection = None

    def __call__(self, place, number):
        try:
            self.connection = self.connection or socket.create_connection(("127.0.0.1", place.port), 10)
            self.connection.sendall(b"".join(b"*3\r\n$3\r\nSET\r\n$11\r\n%011d\r\n$400\r\n%s\r\n" % (key, b"v" * 400)
                                             for key in range(number * self.KEYS, (number + 1) * self.KEYS)))
            answers = self.connection.recv(5 * self.KEYS, socket.MSG_WAITALL)
        except OSError:
            self.connection = None
            raise
        if len(answers) < 5 * self.KEYS:
            self.connection = None
        time.sleep(0.002)


class Pipe:
    """/mnt/lines as a log that is written while the program reads it: 6 MiB/s at most."""

    LINES = 2000

    def __init__(self):
        self.pipe = None

    def __call__(self, place, number):
        if self.pipe is None:
            self.pipe = os.open(os.path.join(place.folder, "lines"), os.O_WRONLY | os.O_NONBLOCK)  # refused until it is read
            os.set_blocking(self.pipe, True)
        os.write(self.pipe, inputs.log_lines(number * self.LINES, self.LINES).encode())
        time.sleep(0.02)


def programs(port):
    yield Program("pylint", "python", "cpython", 128,
                  ("/usr/bin/python3", "-m", "pylint", "-j1", "/mnt/shop"), inputs.python_modules)
    yield Program("sphinx", "python", "cpython", 96,
                  ("/usr/bin/python3", "-m", "sphinx", "-q", "/mnt", "/tmp/html"), inputs.documents)
    yield Program("ant", "java", "jvm", 256,
                  (JAVA, "-Xmx2g", "-cp", "/usr/share/ant/lib/ant-launcher.jar", "org.apache.tools.ant.launch.Launcher",
                   "-f", "/mnt/build.xml"), inputs.java_sources)
    yield Program("tomcat", "java", "jvm", 224,
                  (JAVA, "-Xmx2g", "-cp", "/usr/share/tomcat10/bin/bootstrap.jar:/usr/share/tomcat10/bin/tomcat-juli.jar",
                   "-Dcatalina.home=/usr/share/tomcat10", "-Dcatalina.base=/mnt", "-Djava.io.tmpdir=/tmp",
                   "org.apache.catalina.startup.Bootstrap", "start"),
                  lambda folder: inputs.tomcat_base(folder, port), create_session)
    yield Program("rollup", "node", "v8", 256, (*NODE, "/usr/bin/rollup", "-d", "/tmp/out", "/mnt/index.js"),
                  inputs.ecmascript_modules)
    yield Program("webpack", "node", "v8", 256,
                  (*NODE, "/usr/bin/webpack", "--mode", "production", "--entry", "/mnt/index.js", "-o", "/tmp/out"),
                  inputs.ecmascript_modules)
    yield Program("tsc", "node", "v8", 256,
                  (*NODE, "/usr/share/nodejs/typescript/lib/tsc.js", "--noEmit", "--strict", "--target", "es2020",
                   "/mnt/m599.ts"), inputs.typescript_modules)
    yield Program("cc1plus", "cxx", "native", 256,
                  ("/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "-quiet", "-O2", "/mnt/big.cc", "-o", "/tmp/big.s"),
                  inputs.cxx_source)
    yield Program("clang", "cxx", "native", 256,
                  ("/usr/lib/llvm-14/bin/clang++", "-O2", "-c", "/mnt/big.cc", "-o", "/tmp/big.o"), inputs.cxx_source)
    yield Program("z3", "cxx", "native", 80, ("/usr/bin/z3", "/mnt/products.smt2"), inputs.equations)
    yield Program("mariadb", "cxx", "native", 384,
                  ("/usr/sbin/mariadbd", "--no-defaults", "--user=root", "--datadir=/tmp", "--socket=/tmp/socket",
                   "--skip-networking", "--skip-grant-tables", "--innodb-buffer-pool-size=8M", "--innodb-log-file-size=4M",
                   "--init-file=/mnt/fill.sql"), inputs.statements)
    yield Program("sqlite3", "c", "native", 128, ("/usr/bin/sqlite3", "-init", "/mnt/fill.sql", ":memory:", ".tables"),
                  inputs.sqlite_statements)
    yield Program("gawk", "c", "native", 128, ("/usr/bin/gawk", "{ seen[$2]++; last[$2] = $0 }", "/mnt/lines"),
                  inputs.named_pipe, Pipe())
    yield Program("redis", "c", "native", 128,
                  ("/usr/bin/redis-server", "--port", str(port), "--save", "", "--dir", "/tmp"), lambda folder: None, Redis())
    yield Program("sort", "rust", "native", 128,
                  ("/usr/lib/cargo/bin/coreutils/sort", "-S", "4G", "-o", "/tmp/sorted", "/mnt/lines"), inputs.named_pipe, Pipe())
    yield Program("ripgrep", "rust", "native", 96, ("/usr/bin/rg", "--no-mmap", "-U", "-c", "absent\\nline", "/mnt/lines"),
                  inputs.lines)


class Run:
    """What one program came to."""

    def __init__(self, program):
        self.program, self.incident, self.problem, self.seconds = program, None, "", 0.0

    @property
    def composition(self):
        return (self.incident or {}).get("composition") or {}

    @property
    def named(self):
        return self.composition.get("named_ratio")

    @property
    def read_bytes(self):
        return sum(part["bytes"] for part in self.composition.get("parts") or [])

    @property
    def anon_bytes(self):
        return self.incident["victims"][0]["rss"]["anon_bytes"] if self.incident else 0

    @property
    def runtime(self):
        analyses = [a for a in (self.incident or {}).get("analyses") or [] if a["result"] == "ok"]
        return analyses[-1]["of"] if analyses else "-"

    @property
    def is_met(self):
        return self.named is not None and self.named >= NAMED_BAR and self.runtime == self.program.runtime


def carry_out(site, witness, root, run, port):
    program, start = run.program, time.monotonic()
    folder = os.path.join(site.scratch, program.name)
    program.prepare(make_folder(folder))
    argv, environment = entering(root, folder, program.argv)
    with MemoryCgroup(site.prefix + program.name, program.limit_mib * MIB) as box, \
            Workload(argv, box, own_netns=False, env=environment) as work, \
            Load(lambda number: program.step(Place(port, os.path.join(folder, "mnt")), number)):
        with contextlib.suppress(NotInTime):
            eventually(lambda: box.kernel_kills() > 0 or not work.is_alive(), "a kill", DEADLINE_S, 0.1)
        run.seconds = time.monotonic() - start
        if box.kernel_kills() == 0:
            run.problem = f"not killed in {run.seconds:.0f} s: {box.usage() >> 20} MiB, {work.text()[-500:]}"
            return
        run.incident = eventually(lambda: settled_incident(witness, {box.path}), "an incident that is whole", 90, 0.5)


def print_one(run):
    program = run.program
    print(f"{program.name} ({program.limit_mib} MiB, {run.seconds:.0f} s): {run.problem or (run.incident['answer'] or {}).get('sentence')}")
    for part in run.composition.get("parts") or []:
        print(f"    {part['bytes'] / MIB:7.1f} MiB {part['name']}")
    for filler in ((run.incident or {}).get("fillers") or [])[:3]:
        held = f", held as {filler['held_as']}" if filler.get("held_as") else ""
        print(f"    {100 * filler['share']:5.1f} % {filler['kind']} {filler['name']}{held}")
    for note in (run.incident or {}).get("notes") or []:
        print(f"    note: {note}")
    sys.stdout.flush()


def run_all(runs, options, port):
    roots = {}
    with Site() as site:
        witness = site.daemon("[growth]\nenabled = true\n[incidents]\nkeep_count = 1000\n")
        for run in runs:
            name = run.program.root
            try:
                if name not in roots:
                    roots[name] = tools.supplied("debian_root.sh", name, *PACKAGES[name])
                    tools.read_ahead(roots[name])
                carry_out(site, witness, roots[name], run, port)
            except unittest.SkipTest as e:
                run.problem = f"skipped: {e}"
            except Exception as e:  # the other runs are worth having
                run.problem = f"{type(e).__name__}: {e}"
            print_one(run)
            if options.keep and run.incident:
                shutil.copytree(run.incident["_dir"], os.path.join(options.keep, run.program.name), dirs_exist_ok=True)


def row_of(run):
    percent = lambda ratio: "-" if ratio is None else f"{100 * ratio:.1f} %"
    fillers = [f"{f['name']} {100 * f['share']:.0f} %" for f in ((run.incident or {}).get("fillers") or [])[:3]]
    anon = run.anon_bytes
    return (run.program.name, run.runtime, percent(run.named), f"{anon / MIB:.0f} MiB",
            percent(run.read_bytes / anon if anon else None), "; ".join(fillers) or "-", "" if run.is_met else "below")


def main():
    options = parsed(runs_parser(__doc__, jobs=1, keep="where to copy the incidents"))
    port = free_port()
    runs = [Run(p) for p in programs(port) if not options.k or any(k in p.name for k in options.k)]
    if not runs:
        sys.exit("no such program")
    print_conditions()
    run_all(runs, options, port)
    print()
    table(("program", "named as", "of what was read, in named parts", "anon at the kill", "of it read", "top fillers", ""),
          [row_of(run) for run in runs])
    bars = Bars()
    for run in runs:
        bars.require(f"{run.program.name}: {run.program.runtime}, >= {100 * NAMED_BAR:.0f} % of anon in named parts "
                     f"{'(' + run.problem + ')' if run.problem else ''}", run.is_met)
    return bars.finish(options)


if __name__ == "__main__":
    sys.exit(main())
