// SPDX-License-Identifier: Apache-2.0
#include "model/limit_scope.h"

#include <algorithm>
#include <array>

namespace oomw {

namespace {

// The kernel keeps limits in whole pages, of 64 KiB at most.
constexpr std::uint64_t kPage = 64 << 10;
constexpr std::size_t kMaxSharers = 64;
constexpr std::size_t kMaxProcesses = 64;  // whose start times are compared

bool is_same_limit(std::uint64_t a, std::uint64_t b) { return (a > b ? a - b : b - a) < kPage; }

bool is_pods_own(const CgroupState* state) { return state != nullptr && MemoryModel::is_pods_own(*state); }

// A cgroup discovered by a lookup is as old as its oldest process. A kill that the kernel log reports afterwards may
// belong to a container whose place another one has taken by now.
bool began_after(const CgroupState& state, MonotonicTime at, const MemoryModel& model) {
  const bool is_known_then = state.created_at ? *state.created_at <= at : state.sampled && state.sampled_at <= at;
  if (is_known_then) return false;
  const auto processes = model.processes_under(state.id, kMaxProcesses);
  if (processes.empty()) return state.created_at.has_value();
  return std::ranges::all_of(processes, [&](const ProcessState* process) {
    const auto start_ns = static_cast<std::int64_t>(process->key.start_ticks * kNanosecondsPerTick);
    return process->key.start_ticks != 0 && MonotonicTime{start_ns} > at;
  });
}

bool lived_at(const CgroupState& state, MonotonicTime at, const MemoryModel& model) {
  return (!state.removed_at || *state.removed_at > at) && !began_after(state, at, model);
}

// CRI-O's and cri-dockerd's sandboxes have names of their own.
bool is_sandbox_name(const std::string& name) { return name == "POD" || name.starts_with("k8s_POD_"); }

// Where none of them has a name, the sandbox is the one created first, and it has no limit.
void leave_out_sandboxes(std::vector<const CgroupState*>& containers, const MemoryModel& model) {
  if (std::erase_if(containers, [&](const CgroupState* state) { return is_sandbox(*state, model); }) != 0) return;
  const auto first = std::ranges::min_element(containers, {}, &CgroupState::id);
  if (first == containers.end()) return;
  const ContainerIdentity& who = (*first)->identity;
  const bool is_named = !who.name.empty() || model.pods().find_container(who.id) != nullptr;
  if (!is_named && !(*first)->limit_bytes) containers.erase(first);
}

// The pod's containers that lived at that time, except `except`, by id.
std::vector<CgroupId> containers_of(CgroupId pod, CgroupId except, MonotonicTime at, const MemoryModel& model) {
  std::vector<const CgroupState*> found;
  for (const CgroupId id : model.children_of(pod)) {
    const CgroupState* child = model.find_cgroup(id);
    if (child == nullptr || id == except || child->identity.id.empty() || !lived_at(*child, at, model)) continue;
    found.push_back(child);
  }
  leave_out_sandboxes(found, model);
  std::vector<CgroupId> containers;
  for (const CgroupState* state : found) containers.push_back(state->id);
  std::ranges::sort(containers);
  if (containers.size() > kMaxSharers) containers.resize(kMaxSharers);
  return containers;
}

using Limits = std::vector<std::optional<std::uint64_t>>;  // an element without a value = no limit

// The container's own limit, from its files and from the API. If neither is known: the API's limits of all its pod's
// containers, because it is one of them.
Limits own_limits(const CgroupState& container, const CgroupState& pod, const MemoryModel& model) {
  Limits limits;
  const bool is_being_made = !container.limit_bytes && container.is_being_made_at(container.sampled_at);
  if (container.sampled && !is_being_made) limits.push_back(container.limit_bytes);
  const auto facts = model.pods().facts_of(container.identity);
  if (facts && facts->container) limits.push_back(facts->container->memory_limit_bytes);
  if (const PodSeen* seen = model.pods().find_pod(pod.identity); seen != nullptr && limits.empty()) {
    for (const PodContainer& one : seen->containers) limits.push_back(one.memory_limit_bytes);
  }
  return limits;
}

// A resize reaches the two one after the other, so any two figures that agree are enough. Where the container's is not
// known it is taken to be the same: a kubelet gives a pod no limit if one of its containers has none.
bool is_containers_limit(const CgroupState* container, const CgroupState& pod, const OomKill& kill,
                         const MemoryModel& model) {
  const Limits limits = container == nullptr ? Limits{} : own_limits(*container, pod, model);
  const std::array<std::optional<std::uint64_t>, 2> pods = {kill.owner_limit_bytes, pod.limit_bytes};
  if (limits.empty()) return true;
  return std::ranges::any_of(limits, [&](const auto& own) {
    if (!own) return false;
    return (!pods[0] && !pods[1]) ||
           std::ranges::any_of(pods, [&](const auto& of) { return of && is_same_limit(*own, *of); });
  });
}

// The child of `above` on the way down to `id`; none: `id` is not below it.
CgroupId child_towards(CgroupId id, CgroupId above, const MemoryModel& model) {
  const std::vector<CgroupId> path = model.path_up(id);
  const auto found = std::ranges::find(path, above);
  return found == path.begin() || found == path.end() ? CgroupId{} : *(found - 1);
}

// container: the nearest one above the victim; nullptr: none is known.
LimitPlace place_above(CgroupId owner, const CgroupState* container, const OomKill& kill, const MemoryModel& model) {
  LimitPlace place{LimitScope::kAncestor, owner, {}};
  const CgroupState* pod = model.find_cgroup(owner);
  const CgroupId child = child_towards(model.cgroup_of(kill), owner, model);
  const bool is_its_container = container == nullptr || container->id == child;
  if (!is_pods_own(pod) || !child || !is_its_container) return place;
  place.sharers = containers_of(owner, child, kill.time, model);
  place.sharers.insert(place.sharers.begin(), child);
  const bool is_alone = place.sharers.size() == 1;
  const bool is_own = is_alone && is_containers_limit(model.find_cgroup(child), *pod, kill, model);
  place.scope = is_own ? LimitScope::kContainer : LimitScope::kPod;
  return place;
}

}  // namespace

bool is_sandbox(const CgroupState& state, const MemoryModel& model) {
  const ContainerIdentity& who = state.identity;
  if (who.is_sandbox || is_sandbox_name(who.name)) return true;
  const bool is_nameless = who.name.empty() && !who.pod_uid.empty() && !who.id.empty();
  if (!is_nameless || model.pods().find_container(who.id) != nullptr) return false;
  return state.identity_from_bundle || model.pods().find_pod(who) != nullptr;
}

std::string_view to_string(LimitScope scope) {
  constexpr std::array<std::string_view, 5> kNames = {"unknown", "container", "pod", "ancestor", "node"};
  return kNames.at(static_cast<std::size_t>(scope));
}

CgroupId limit_owner_of(const OomKill& kill, const MemoryModel& model) {
  if (kill.owner_known) return kill.owner_cgroup;
  const auto limit = model.effective_limit(model.cgroup_of(kill));
  return limit ? limit->owner : CgroupId{};
}

LimitPlace place_of_limit(const OomKill& kill, const MemoryModel& model) {
  const CgroupId victim = model.cgroup_of(kill);
  const CgroupId owner = limit_owner_of(kill, model);
  if (!owner) return {kill.owner_known ? LimitScope::kNode : LimitScope::kUnknown, owner, {}};
  const CgroupState* container = model.container_of(victim);
  const CgroupId boundary = container != nullptr ? container->id : victim;
  if (owner == victim || model.is_under(owner, boundary)) return {LimitScope::kContainer, owner, {}};
  return place_above(owner, container, kill, model);
}

CgroupId counted_for(CgroupId limited, MonotonicTime at, const MemoryModel& model) {
  if (!is_pods_own(model.find_cgroup(limited))) return limited;
  const std::vector<CgroupId> containers = containers_of(limited, CgroupId{}, at, model);
  return containers.size() == 1 ? containers.front() : limited;
}

}  // namespace oomw
