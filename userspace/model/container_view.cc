// SPDX-License-Identifier: Apache-2.0
#include "model/container_view.h"

#include <algorithm>
#include <utility>

#include "model/limit_scope.h"

namespace oomw {
namespace {

// Requires more than one reading, since the limit is written moments after the mkdir.
bool is_known_unlimited(const CgroupState& state, const MemoryModel& model) {
  return !state.identity.id.empty() && !state.removed_at && !is_sandbox(state, model) && !state.limit_bytes &&
         state.series.size() > 1;
}

// A pod's limit only repeats those of its containers (kubelet writes their sum). But for a container without a limit
// of its own, the pod's is the only one.
bool holds_an_unlimited_container(const CgroupState& pod, const MemoryModel& model) {
  return std::ranges::any_of(model.children_of(pod.id), [&](CgroupId id) {
    const CgroupState* child = model.find_cgroup(id);
    return child != nullptr && is_known_unlimited(*child, model);
  });
}

}  // namespace

// Cgroups inside a container count for the container, even with a limit of their own. Sandboxes and pods are not
// containers.
bool is_shown(const CgroupState& state, const MemoryModel& model) {
  if (MemoryModel::is_pods_own(state)) {
    return state.limit_bytes && !state.identity.pod_name.empty() && holds_an_unlimited_container(state, model);
  }
  if (const CgroupState* container = model.container_of(state.id)) {
    return container->id == state.id && !is_sandbox(state, model);
  }
  return state.limit_bytes.has_value();
}

std::vector<const CgroupState*> read_containers(const MemoryModel& model) {
  std::vector<const CgroupState*> order;
  for (const auto& [id, state] : model.cgroups()) {
    if (state.sampled && !state.removed_at && !MemoryModel::is_pods_own(state) && is_shown(state, model)) {
      order.push_back(&state);
    }
  }
  std::sort(order.begin(), order.end(), [](const CgroupState* a, const CgroupState* b) {
    return std::pair(b->usage_bytes, a->id) < std::pair(a->usage_bytes, b->id);
  });
  return order;
}

bool is_near_limit(const CgroupState& state, const MemoryModel& model) {
  const auto limit = model.effective_limit(state.id);
  return limit && limit->usage_bytes / 100.0 >= limit->limit_bytes / 10'000.0 * kNearLimitPercent;
}

// The headroom below the limit that will stop it first, divided by its growth; none while it does not grow.
std::optional<double> seconds_to_limit(const CgroupState& state, const MemoryModel& model) {
  const auto limit = model.effective_limit(state.id);
  if (!limit || !state.growth_bytes_per_second || *state.growth_bytes_per_second < 1) return std::nullopt;
  const std::uint64_t headroom = limit->limit_bytes - std::min(limit->limit_bytes, limit->usage_bytes);
  return static_cast<double>(headroom) / *state.growth_bytes_per_second;
}

}  // namespace oomw
