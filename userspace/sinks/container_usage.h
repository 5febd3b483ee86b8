// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "events/event.h"
#include "incident/incident.h"

namespace oomw {

// What one container uses now.
struct ContainerUsage {
  struct Process {
    ProcessKey key;
    std::string comm;
  };
  ContainerIdentity container;
  std::optional<IncidentPod> pod;
  std::string cgroup_path;
  WallTime time;  // when it was read
  std::optional<std::uint64_t> usage_bytes, limit_bytes, nonreclaimable_bytes;
  std::optional<double> growth_bytes_per_second, seconds_to_limit;
  std::vector<Process> processes;  // only near its limit
};

// All containers of the node at one moment, bounded.
struct MemoryReport {
  std::vector<ContainerUsage> containers;
  std::uint64_t containers_left_out = 0, processes_left_out = 0;
};

}  // namespace oomw
