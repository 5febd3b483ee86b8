# SPDX-License-Identifier: Apache-2.0
"""The memory that the DaemonSet asks for and may use: what benchmarks measure must fit in it."""
import os

import yaml

from harness import tools


def request_and_limit():
    """In bytes."""
    with open(os.path.join(tools.TREE, "deploy/kubernetes/base/daemonset.yaml"), encoding="utf-8") as f:
        container, = yaml.safe_load(f)["spec"]["template"]["spec"]["containers"]
    resources = container["resources"]
    return tuple(int(resources[kind]["memory"].removesuffix("Mi")) << 20 for kind in ("requests", "limits"))
