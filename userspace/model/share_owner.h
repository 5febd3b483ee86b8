// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/fair_share.h"
#include "model/memory_model.h"

namespace oomw {

// Whom the evidence about a cgroup is charged to. Pure.
//   - container: the topmost container on the path, below the topmost pod if there is one: what a workload makes below
//     its own cgroup gives it no further shares. Without any container or unit: the cgroup's path.
//   - space: the namespace where it is known, else the pod: a container that is restarted again and again has a new
//     identity each time, its pod has not.
// Printable.
[[nodiscard]] ShareOwner share_owner_of(CgroupId cgroup, const MemoryModel& model);

}  // namespace oomw
