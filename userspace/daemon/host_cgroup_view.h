// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/result.h"

namespace oomw {

// /proc/PID/cgroup shows paths relative to the reader's cgroup namespace. A pod that is not privileged gets one of its
// own on cgroup v2, and every other container's path would begin with "/..". So this thread, and those it creates
// later, join the namespace of the node's process 1 or, where that is not accessible, of its kernel threads. Does
// nothing where that is ours already, as outside of containers. Needs CAP_SYS_ADMIN, and hostPID in a pod.
[[nodiscard]] Result<> see_cgroups_as_the_node(const std::string& proc_root);

}  // namespace oomw
