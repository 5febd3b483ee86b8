// SPDX-License-Identifier: Apache-2.0
#include "sinks/memory_report.h"

#include <algorithm>
#include <vector>

#include "correlate/incident_builder.h"
#include "model/container_view.h"

namespace oomw {
namespace {

constexpr std::size_t kMostCounted = 4'096;  // processes of a container

// Without what a label is not for: other resources' telemetry does not carry them either.
ContainerIdentity identity_of(const CgroupState& state, const MemoryModel& model) {
  if (state.identity != ContainerIdentity{}) return state.identity;
  const ContainerIdentity* above = model.identity_of(state.id);
  return above != nullptr ? *above : ContainerIdentity{};
}

bool is_near_its_limit(const CgroupState& state, const MemoryModel& model, unsigned percent) {
  const auto limit = model.effective_limit(state.id);
  return limit && limit->usage_bytes / 100.0 >= limit->limit_bytes / 10'000.0 * percent;
}

void add_processes(const CgroupState& state, const MemoryModel& model, const MemoryReportBounds& bounds,
                   std::size_t& room, MemoryReport& report) {
  ContainerUsage& reading = report.containers.back();
  const auto all = model.processes_under(state.id, kMostCounted);
  const std::size_t kept = std::min({all.size(), bounds.processes_each, room});
  for (std::size_t i = 0; i < kept; ++i) reading.processes.push_back({all[i]->key, all[i]->comm});
  room -= kept;
  report.processes_left_out += all.size() - kept;
}

}  // namespace

ContainerUsage container_usage_of(const CgroupState& state, const MemoryModel& model, std::int64_t wall_offset_ns) {
  ContainerUsage reading;
  reading.container = identity_of(state, model);
  reading.cgroup_path = state.path;
  if (!reading.container.pod_uid.empty() || !reading.container.pod_name.empty()) {
    if (const auto facts = model.pods().facts_of(reading.container)) reading.pod = pod_of(*facts);
  }
  reading.time = {state.sampled_at.ns + wall_offset_ns};
  reading.usage_bytes = state.usage_bytes;
  reading.limit_bytes = state.limit_bytes;
  reading.nonreclaimable_bytes = state.nonreclaimable_bytes;
  reading.growth_bytes_per_second = state.growth_bytes_per_second;
  reading.seconds_to_limit = seconds_to_limit(state, model);
  return reading;
}

MemoryReport memory_report_of(const MemoryModel& model, std::int64_t wall_offset_ns, const MemoryReportBounds& bounds) {
  std::vector<const CgroupState*> order;
  for (const auto& [id, state] : model.cgroups()) {
    if (state.sampled && !state.removed_at && !MemoryModel::is_pods_own(state) && is_shown(state, model)) {
      order.push_back(&state);
    }
  }
  std::sort(order.begin(), order.end(), [](const CgroupState* a, const CgroupState* b) {
    return std::pair(b->usage_bytes, a->id) < std::pair(a->usage_bytes, b->id);
  });
  MemoryReport report;
  std::size_t room = bounds.processes;
  for (std::size_t i = 0; i < order.size() && i < bounds.containers; ++i) {
    report.containers.push_back(container_usage_of(*order[i], model, wall_offset_ns));
    if (is_near_its_limit(*order[i], model, bounds.near_percent)) {
      add_processes(*order[i], model, bounds, room, report);
    }
  }
  report.containers_left_out = order.size() - report.containers.size();
  return report;
}

}  // namespace oomw
