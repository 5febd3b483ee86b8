# SPDX-License-Identifier: Apache-2.0
"""The programs of tests/workloads/answers: what the corpus starts as KIND:NAME, built where that is needed."""
import os
import shutil
import threading
import unittest

from bench_support import tools

FOLDER = os.path.join(tools.WORKLOADS, "answers")
BUILT = os.path.join(tools.CACHE, "workloads/answers")
# Without symbols, as the name says; the others keep them, and all are as distributions build: -O2, dynamic.
COMPILERS = {  # folder, suffix, what all programs of the folder include (or None), command
    "cc": ("cc", "cc", "pace.h", ["g++", "-std=c++17", "-O2", "-pthread"]),
    "cc-stripped": ("cc", "cc", "pace.h", ["g++", "-std=c++17", "-O2", "-pthread", "-s"]),
    "c": ("cc", "c", "pace.h", ["gcc", "-O2", "-pthread"]),
    "rust": ("rust", "rs", "pace.rs", ["rustc", "--edition=2021", "-O"]),
    "go": ("go", "go", None, ["go", "build", "-trimpath", "-ldflags=-s -w"]),
}
_one_builds = threading.Lock()


def is_answer_program(program):
    return ":" in program


def _program(name):
    found = shutil.which(name)
    if not found:
        raise unittest.SkipTest(f"no {name} on this machine")
    return found


def _built(kind, name):
    folder, suffix, common, (compiler, *options) = COMPILERS[kind]
    source = os.path.join(FOLDER, folder, f"{name}.{suffix}")
    target = os.path.join(BUILT, f"{name}-{kind}")
    sources = [source, *([os.path.join(FOLDER, folder, common)] if common else [])]
    return tools._build(target, sources, [_program(compiler), *options, "-o", target, source], env=tools.go_env())


def _java_class(name):
    target = os.path.join(BUILT, "java", name + ".class")
    source = os.path.join(FOLDER, "java", name + ".java")
    tools._build(target, [source], [_program("javac"), "-d", os.path.dirname(target), source])
    return os.path.dirname(target)


def answer_argv(program, arguments=()):
    """How to start KIND:NAME. Options are those of java or node, all else is the program's. Python is the system's own, no
    launcher of another."""
    kind, name = program.split(":")
    options = [a for a in arguments if a.startswith("-")]
    arguments = [a for a in arguments if not a.startswith("-")]
    with _one_builds:
        if kind == "python":
            return ["/usr/bin/python3", os.path.join(FOLDER, "python", name + ".py"), *arguments]
        if kind == "perl":
            return [_program("perl"), os.path.join(FOLDER, "perl", name + ".pl")]
        if kind == "java":
            return [_program("java"), *options, "-cp", _java_class(name), name]
        if kind == "node":
            return [_program("node"), *options, os.path.join(FOLDER, "node", name + ".js")]
        return [_built(kind, name), *arguments]
