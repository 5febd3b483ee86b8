# SPDX-License-Identifier: Apache-2.0
"""Files that are read or written as a whole, those of /proc among them. Text is UTF-8."""
import json


def read(path, errors="strict"):
    with open(path, encoding="utf-8", errors=errors) as f:
        return f.read()


def lines(path, errors="strict"):
    """Without their ends."""
    with open(path, encoding="utf-8", errors=errors) as f:
        return [line.rstrip("\n") for line in f]


def read_bytes(path):
    with open(path, "rb") as f:
        return f.read()


def read_json(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def write(path, content):
    """Text or bytes."""
    is_text = isinstance(content, str)
    with open(path, "w" if is_text else "wb", encoding="utf-8" if is_text else None) as f:
        f.write(content)


def write_json(path, value, **how):
    with open(path, "w", encoding="utf-8") as f:
        json.dump(value, f, **how)
