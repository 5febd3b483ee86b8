// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "model/memory_model.h"

namespace oomw {

// Whether a cgroup is one of those that metrics show: containers, and cgroups with a limit of their own. Sandboxes are
// left out. A pod's own cgroup is one only if it limits a container that has no limit.
[[nodiscard]] bool is_shown(const CgroupState& state, const MemoryModel& model);
// Of those, the ones that live and were read, without pods' own cgroups: largest usage first. O(cgroups).
[[nodiscard]] std::vector<const CgroupState*> read_containers(const MemoryModel& model);
// At kNearLimitPercent of the limit that will stop it first, or above.
inline constexpr unsigned kNearLimitPercent = 80;
[[nodiscard]] bool is_near_limit(const CgroupState& state, const MemoryModel& model);
// Until it is at the limit that will stop it first; nullopt: it does not grow, or has none.
[[nodiscard]] std::optional<double> seconds_to_limit(const CgroupState& state, const MemoryModel& model);

}  // namespace oomw
