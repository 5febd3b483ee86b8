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
  const std::vector<const CgroupState*> order = read_containers(model);
  MemoryReport report;
  std::size_t room = bounds.processes;
  for (std::size_t i = 0; i < order.size() && i < bounds.containers; ++i) {
    report.containers.push_back(container_usage_of(*order[i], model, wall_offset_ns));
    if (is_near_limit(*order[i], model)) add_processes(*order[i], model, bounds, room, report);
  }
  report.containers_left_out = order.size() - report.containers.size();
  return report;
}

}  // namespace oomw
