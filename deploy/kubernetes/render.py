#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Wraps deploy/prometheus/oomwitness.rules.yml as a PrometheusRule: render.py [--check]. Needs nothing but Python.

kustomize cannot put one YAML file into another, so the result is kept in the tree; --check says whether it is up to date.
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
RULES = os.path.join(HERE, "../prometheus/oomwitness.rules.yml")
TARGET = os.path.join(HERE, "components/prometheus-operator/prometheus_rule.yaml")
HEAD = """# SPDX-License-Identifier: Apache-2.0
# Made by deploy/kubernetes/render.py from deploy/prometheus/oomwitness.rules.yml: edit that.
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata:
  name: oomwitness
  namespace: oomwitness
spec:
"""


def rendered():
    with open(RULES, encoding="utf-8") as f:
        text = f.read()
    rules = text[text.index("\ngroups:\n") + 1:]
    return HEAD + "".join(f"  {line}" if line.strip() else line for line in rules.splitlines(keepends=True))


def main():
    if sys.argv[1:] == ["--check"]:
        with open(TARGET, encoding="utf-8") as f:
            sys.exit(0 if f.read() == rendered() else "prometheus_rule.yaml is not what render.py makes")
    with open(TARGET, "w", encoding="utf-8") as f:
        f.write(rendered())


if __name__ == "__main__":
    main()
