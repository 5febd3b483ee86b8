// SPDX-License-Identifier: Apache-2.0
#include "export/snapshot_builder.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>
#include <vector>

#include "events/lost_stage.h"
#include "model/container_view.h"
#include "model/limit_scope.h"

namespace oomw {
namespace {

using LabelSet = std::array<std::string, 3>;  // namespace, pod, container

// Follows the rule of oom_kills_total, so that memory and kills of one container join on their labels.
LabelSet labels_of(const CgroupState& state, const MemoryModel& model) {
  KillLabels labels = labels_of(state.id, LimitScope::kUnknown, model);
  return {std::move(labels.k8s_namespace), std::move(labels.pod), std::move(labels.container)};
}

// Prefers living to lingering, read to unread, then the newer one: a cgroup id carries the inode
// number's generation above the number itself, so later ids are larger.
bool is_better(const CgroupState& a, const CgroupState& b) {
  return std::tuple(!a.removed_at.has_value(), a.sampled, a.id) >
         std::tuple(!b.removed_at.has_value(), b.sampled, b.id);
}

void add_reclaim(const CgroupState& state, ContainerMetrics& metrics) {
  if (!state.reclaim) return;
  metrics.reclaim_stall_seconds = static_cast<double>(state.reclaim->stall_ns) / 1e9;
  metrics.reclaim_calls = state.reclaim->calls;
  metrics.reclaim_zero_yield_calls = state.reclaim->zero_yield_calls;
}

ContainerMetrics metrics_of(const LabelSet& labels, const CgroupState& state, const MemoryModel& model) {
  ContainerMetrics metrics;
  std::tie(metrics.k8s_namespace, metrics.pod, metrics.container) = std::tie(labels[0], labels[1], labels[2]);
  if (state.sampled) {
    metrics.usage_bytes = state.usage_bytes;
    metrics.limit_bytes = state.limit_bytes;
    metrics.nonreclaimable_bytes = state.nonreclaimable_bytes;
  }
  metrics.is_removed = state.removed_at.has_value();
  // The growth towards a pod's limit is in the series of its containers, so that each has one alert.
  if (MemoryModel::is_pods_own(state)) return metrics;
  if (!metrics.is_removed) {
    metrics.growth_bytes_per_second = state.growth_bytes_per_second;
    metrics.seconds_to_limit = seconds_to_limit(state, model);
  }
  add_reclaim(state, metrics);
  return metrics;
}

using Chosen = std::map<LabelSet, const CgroupState*>;

Chosen choose_one_per_label_set(const MemoryModel& model) {
  Chosen chosen;
  for (const auto& [id, state] : model.cgroups()) {
    if (!is_shown(state, model)) continue;
    const CgroupState*& best = chosen[labels_of(state, model)];
    if (best == nullptr || is_better(state, *best)) best = &state;
  }
  return chosen;
}

// Adds at most `max` living pods that have a name and reclaimed. Returns how many more there are.
std::size_t add_pods(const MemoryModel& model, std::size_t max, MetricsSnapshot& snapshot) {
  std::map<std::pair<std::string, std::string>, const CgroupState*> pods;
  for (const auto& [id, state] : model.cgroups()) {
    const bool is_wanted = MemoryModel::is_pods_own(state) && state.reclaim && !state.removed_at;
    if (is_wanted && !state.identity.pod_name.empty()) {
      pods.try_emplace({state.identity.pod_namespace, state.identity.pod_name}, &state);
    }
  }
  for (const auto& [name, state] : pods) {
    if (snapshot.pods.size() >= max) return pods.size() - max;
    const ReclaimSampled& reclaim = *state->reclaim;
    snapshot.pods.push_back({name.first, name.second, static_cast<double>(reclaim.stall_ns) / 1e9, reclaim.calls,
                             reclaim.zero_yield_calls});
  }
  return 0;
}

// Keyed by the cgroup that is shown for the process; one suspected process makes its container suspected.
std::map<CgroupId, LeakSuspicion> suspicions_by_cgroup(const MemoryModel& model, const LeakSuspicions& suspicions) {
  std::map<CgroupId, LeakSuspicion> by_cgroup;
  for (const auto& [key, one] : suspicions) {
    const ProcessState* process = model.find_process(key);
    if (process == nullptr) continue;
    const CgroupState* container = model.container_of(process->cgroup);
    LeakSuspicion& its = by_cgroup[container != nullptr ? container->id : process->cgroup];
    its.is_suspected |= one.is_suspected;
    if (its.growing.name.empty()) its.growing = one.growing;
  }
  return by_cgroup;
}

}  // namespace

void add_model(const MemoryModel& model, std::size_t max_containers, MetricsSnapshot& snapshot,
               const LeakSuspicions& suspicions) {
  const std::map<CgroupId, LeakSuspicion> suspected = suspicions_by_cgroup(model, suspicions);
  const Chosen chosen = choose_one_per_label_set(model);
  std::vector<Chosen::const_pointer> order;
  order.reserve(chosen.size());
  for (const auto& entry : chosen) order.push_back(&entry);
  const std::size_t kept = std::min(max_containers, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    [](auto* a, auto* b) { return a->second->usage_bytes > b->second->usage_bytes; });
  for (std::size_t i = 0; i < kept; ++i) {
    ContainerMetrics& metrics = snapshot.containers.emplace_back(metrics_of(order[i]->first, *order[i]->second, model));
    const auto judged = suspected.find(order[i]->second->id);
    if (judged == suspected.end()) continue;
    metrics.suspected_leak = judged->second.is_suspected;
    metrics.growing = judged->second.growing;
  }
  for (const auto& [stage, total] : model.lost()) snapshot.lost[stage] = total;
  const std::size_t left_out = order.size() - kept + add_pods(model, max_containers, snapshot);
  snapshot.lost[std::string(to_string(LostStage::kMetricsContainers))] = left_out;
  snapshot.lost[std::string(to_string(LostStage::kModel))] = model.dropped();
  snapshot.cgroups = model.cgroups().size();
  snapshot.processes = model.process_count();
}

}  // namespace oomw
