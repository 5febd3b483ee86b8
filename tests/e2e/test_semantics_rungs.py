# SPDX-License-Identifier: Apache-2.0
"""The semantics once more on each rung of oom_kill that this kernel has; doctor reports what a rung cannot know.

LimitsOnRawTp and so on: the tests of test_semantics_*.py, the daemon held to that rung.
"""
import test_semantics_limits as limits
import test_semantics_memory as memory
import test_semantics_node as node
import test_semantics_processes as processes
from harness.semantics import RUNGS

REPEATED = (limits.Limits, limits.GroupKills, limits.ChangedLimits, processes.Threads, processes.Children,
            processes.Vanishing, memory.Files, node.NodeWide)


def camel(rung):
    return "".join(part.capitalize() for part in rung.split("_"))


for _rung in RUNGS:
    for _theme in REPEATED:
        _name = f"{_theme.__name__}On{camel(_rung)}"
        globals()[_name] = type(_name, (_theme,), {"rung": _rung, "__module__": __name__, "__doc__": _theme.__doc__})
del _rung, _theme, _name
