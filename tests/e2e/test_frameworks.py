# SPDX-License-Identifier: Apache-2.0
"""Services on real web frameworks, as their documentation has them: the endpoint that leaks is the one that is named."""
import os

from harness import tools
from harness.case import E2eTest
from harness.wait import eventually


class Frameworks(E2eTest):
    LIMIT_MB = 80

    def assert_named(self, framework, endpoint, handler):
        """The others of its endpoints are as busy and allocate as much."""
        program = os.path.join(tools.supplied("frameworks_build.sh", "1.27"), framework)
        witness = self.daemon()
        box = self.cgroup(framework, self.LIMIT_MB)
        self.start([program, "-leak", endpoint, "-rate", "80"], box).wait_killed()

        def named():
            culprits = [i["answer"]["culprit"] or {} for i in self.incidents_of(witness, box) if i["answer"]]
            return [culprit.get("operation") for culprit in culprits]

        # The first writing may know the captures on the way up only.
        eventually(lambda: named() == [handler], lambda: f"{handler} as the operation; have {named()}", 30)

    def test_method_of_a_struct_behind_middlewares_is_named_with_gin(self):
        self.assert_named("gin", "GET /pictures/:id", "main.(*pictures).Get")

    def test_handler_inside_an_adapter_of_the_program_is_named_with_gorilla_mux(self):
        self.assert_named("mux", "POST /reviews", "main.(*shop).postReview")
