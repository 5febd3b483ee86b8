# SPDX-License-Identifier: Apache-2.0
"""The Dockerfile against the manifests that start its image. No container engine runs in tests."""
import os
import re
import unittest

import manifests
from harness import fileio, tools
from harness.daemon import run_program

PATH = os.path.join(tools.TREE, "deploy/image/Dockerfile")


def instructions():
    """[(INSTRUCTION, argument)], with continued lines joined."""
    lines = [line for line in fileio.read(PATH).splitlines() if not line.lstrip().startswith("#")]
    text = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def arguments(name):
    return [argument for instruction, argument in instructions() if instruction == name]


class Dockerfile(unittest.TestCase):
    def setUp(self):
        if not os.path.exists(PATH):
            self.skipTest("this tree has no deploy/image")
        self.container = manifests.container_of(manifests.overlay("privileged"))

    def test_it_starts_as_the_daemonset_expects(self):
        self.assertEqual(arguments("ENTRYPOINT"), ['["/usr/bin/oomwitness"]'])
        self.assertNotIn("command", self.container)
        self.assertEqual(self.container["args"][0], "run")
        self.assertEqual([port.split("/")[0] for port in arguments("EXPOSE")], [str(self.container["ports"][0]["containerPort"])])
        self.assertEqual(arguments("USER"), [f"{self.container['securityContext']['runAsUser']}:0"])
        self.assertIn(arguments("VOLUME")[0], [m["mountPath"] for m in self.container["volumeMounts"]])

    def test_it_installs_what_the_tree_knows_how_to(self):
        profiles = re.findall(r"install-deps.sh (\w+)", " ".join(arguments("RUN")))
        self.assertTrue(profiles)
        for profile in profiles:
            done = run_program(os.path.join(tools.TREE, "deploy/install-deps.sh"), profile, status=0)

    def test_manifests_and_label_name_the_version_of_the_tree(self):
        version = re.search(r"project\(oomwitness VERSION ([\d.]+)", fileio.read(os.path.join(tools.TREE, "CMakeLists.txt")))[1]
        self.assertEqual(self.container["image"], f"oomwitness:{version}")
        labels = dict(argument.split("=", 1) for argument in arguments("LABEL"))
        self.assertEqual(labels["org.opencontainers.image.version"], f'"{version}"')
