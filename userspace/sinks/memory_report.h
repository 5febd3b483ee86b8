// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/memory_model.h"
#include "sinks/container_usage.h"

namespace oomw {

struct MemoryReportBounds {
  std::size_t containers = 1'000;  // largest usage first
  std::size_t processes = 512;     // of the node
  std::size_t processes_each = 32;
};

// Without its processes.
[[nodiscard]] ContainerUsage container_usage_of(const CgroupState& state, const MemoryModel& model,
                                                std::int64_t wall_offset_ns);

// Living containers, as /metrics shows them, those near their limit with their processes; each is a resource of its
// own, so none merge. wall_offset_ns: wall clock less monotonic clock. Pure; O(cgroups).
[[nodiscard]] MemoryReport memory_report_of(const MemoryModel& model, std::int64_t wall_offset_ns,
                                            const MemoryReportBounds& bounds = {});

}  // namespace oomw
