# SPDX-License-Identifier: Apache-2.0
"""deploy/kubernetes as `kubectl kustomize` makes it."""
import os
import re
import shutil
import tempfile

import yaml
from harness import fileio, tools
from harness.manifest import KUBERNETES as FOLDER
from harness.manifest import build

OVERLAYS = ("privileged", "least-capability", "prometheus-operator", "openshift")


def overlay(name):
    return build(os.path.join(FOLDER, "overlays", name))


def with_component(name, component, more=None):
    """The overlay with an opt-in component, added as its comment describes; more: further fields of that kustomization."""
    folder = tempfile.mkdtemp(prefix=".test-", dir=os.path.join(FOLDER, "overlays"))
    try:
        with open(os.path.join(folder, "kustomization.yaml"), "w") as f:
            yaml.safe_dump({"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
                            "resources": [f"../{name}"], "components": [f"../../components/{component}"], **(more or {})}, f)
        return build(folder)
    finally:
        shutil.rmtree(folder)


def only(objects, kind, name="oomwitness"):
    found = [o for o in objects if o["kind"] == kind and o["metadata"]["name"].startswith(name)]
    if len(found) != 1:
        raise AssertionError(f"{len(found)} objects {kind} {name}")
    return found[0]


def pod_of(objects):
    return only(objects, "DaemonSet")["spec"]["template"]["spec"]


def assert_labelled(test, objects, instance, manager):
    """Every object and the pod have the labels that people and policies go by; selectors only those that never change."""
    version = re.search(r"project\(oomwitness VERSION (\S+)", fileio.read(os.path.join(tools.TREE, "CMakeLists.txt")))[1]
    fixed = {"app.kubernetes.io/name": "oomwitness", "app.kubernetes.io/part-of": "oomwitness"}
    labels = {**fixed, "app.kubernetes.io/instance": instance, "app.kubernetes.io/version": version, "app.kubernetes.io/managed-by": manager}
    spec = only(objects, "DaemonSet")["spec"]
    for item in [*objects, spec["template"]]:
        test.assertLessEqual(labels.items(), item["metadata"].get("labels", {}).items(), item)
    test.assertEqual(spec["selector"], {"matchLabels": fixed})
    test.assertEqual(only(objects, "NetworkPolicy")["spec"]["podSelector"], {"matchLabels": fixed})


def container_of(objects):
    container, = pod_of(objects)["containers"]
    return container


def config_of(objects):
    return only(objects, "ConfigMap", "oomwitness-config")["data"]["oomwitness.toml"]


def least_capabilities():
    return set(container_of(overlay("least-capability"))["securityContext"]["capabilities"]["add"])


def bytes_of(quantity):
    return int(quantity.removesuffix("Mi")) << 20
