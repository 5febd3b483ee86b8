// SPDX-License-Identifier: Apache-2.0
#include "model/memory_model.h"

#include <algorithm>
#include <variant>

namespace oomw {

namespace {

std::uint64_t saturating_sub(std::uint64_t a, std::uint64_t b) { return a > b ? a - b : 0; }

// The first limit of a cgroup that was read before it had one is not a change.
void set_limit(CgroupState& state, MonotonicTime time, std::optional<std::uint64_t> limit) {
  const bool is_first = !state.limit_bytes && !state.limit_change && state.is_being_made_at(state.sampled_at);
  const bool is_change = state.sampled && state.limit_bytes != limit && !is_first;
  if (is_change) state.limit_change = LimitChange{time, state.limit_bytes, limit};
  state.limit_bytes = limit;
}

// A usage that the kernel reported with an event. It does not show what is reclaimable, and an older figure for that
// beside a newer usage would be wrong evidence.
void note_usage(CgroupState& state, MonotonicTime time, std::uint64_t usage, std::optional<std::uint64_t> limit) {
  state.series.add({time, usage, std::nullopt});
  if (state.sampled && time < state.sampled_at) return;
  if (limit) set_limit(state, time, limit);
  state.sampled = true;
  state.sampled_at = time;
  state.usage_bytes = usage;
  state.nonreclaimable_bytes.reset();
}

// By the readings of half a minute: an allocator grows by bursts, and the kernel's rate, of 40 ms, is that of one
// (seen: 4 to 14 times the program's). It counts while there is no second reading.
void update_growth(CgroupState& state, std::optional<double> of_the_moment) {
  constexpr Nanoseconds kWindow = std::chrono::seconds(30);
  const auto growth = state.series.growth_bytes_per_second(kWindow, state.killed_at);
  if (growth || of_the_moment) state.growth_bytes_per_second = growth ? growth : of_the_moment;
}

// A container that hovers at its limit reports a time to limit once a second. These reports must not push out those of
// the levels it crossed.
void remember(std::vector<WatermarkCrossed>& marks, const WatermarkCrossed& mark) {
  if (marks.size() >= CgroupState::kMaxWatermarks) {
    const auto says_little = std::ranges::find(marks, WatermarkReason::kTimeToLimit, &WatermarkCrossed::reason);
    marks.erase(says_little != marks.end() ? says_little : marks.begin());
  }
  marks.push_back(mark);
}

}  // namespace

void MemoryModel::apply(const Event& event) {
  std::visit([this](const auto& e) { on(e); }, event);
}

void MemoryModel::on(const OomKill& e) {
  if (!e.unwatched) processes_.on_kill(e.victim);
  CgroupState* owner = e.owner_cgroup ? cgroup_for(e.owner_cgroup) : nullptr;
  if (owner != nullptr && e.owner_usage_bytes) note_usage(*owner, e.time, *e.owner_usage_bytes, e.owner_limit_bytes);
  for (CgroupState* state : {owner, known(e.victim_cgroup)}) {
    if (state == nullptr) continue;
    state->growth_bytes_per_second.reset();
    state->killed_at = std::max(state->killed_at, e.time);
  }
}

void MemoryModel::on(const WatermarkCrossed& e) {
  CgroupState* state = cgroup_for(e.cgroup);
  if (state == nullptr) return;
  note_usage(*state, e.time, e.usage_bytes, e.limit_bytes);
  remember(state->watermarks, e);
  update_growth(*state, e.growth_bytes_per_second);
}

std::optional<Nanoseconds> MemoryModel::time_to_limit(const WatermarkCrossed& e) const {
  constexpr std::uint64_t kHardly = 25;  // this part of the limit
  const CgroupState* state = find_cgroup(e.cgroup);
  if (state == nullptr || !e.time_to_limit) return e.time_to_limit;
  const auto growth = state->series.steady_growth_bytes_per_second(e.limit_bytes / kHardly);
  if (!growth) return e.time_to_limit;
  if (*growth <= 0) return std::nullopt;
  constexpr double kMost = 86'400;
  const double left = static_cast<double>(e.limit_bytes - std::min(e.limit_bytes, e.usage_bytes)) / *growth;
  return std::max(*e.time_to_limit, Nanoseconds(static_cast<std::int64_t>(std::min(left, kMost) * 1e9)));
}

void MemoryModel::on(const ProcessExec& e) { processes_.on_exec(e); }
void MemoryModel::on(const ProcessExit& e) { processes_.on_exit(e); }
void MemoryModel::on(const ProcessSeen& e) { processes_.on_seen(e); }

void MemoryModel::on(const CgroupCreated& e) {
  CgroupState* state = cgroup_for(e.cgroup);
  if (state == nullptr) return;
  if (state->removed_at) {  // its id is used again: nothing of the old cgroup applies to the new one
    leave_parent(*state);
    pods_.on_cgroup_erased(e.cgroup, state->identity);
    *state = CgroupState{};
    state->id = e.cgroup;
  }
  if (e.parent && e.parent != e.cgroup) set_parent(*state, e.parent);
  if (e.path_complete) state->path = e.path;  // a cut path names another cgroup, or none
  if (e.existed || state->created_at) return;
  state->created_at = e.time;
  if (const CgroupState* parent = known(state->parent)) state->parent_reclaim = parent->reclaim;
}

void MemoryModel::on(const CgroupRemoved& e) {
  processes_.on_cgroup_removed(e.cgroup, e.time);
  CgroupState* state = known(e.cgroup);
  if (state == nullptr || state->removed_at) return;
  state->removed_at = e.time;
  removed_.emplace_back(e.time, e.cgroup);
}

void MemoryModel::on(const ReclaimSampled& e) {
  if (CgroupState* state = cgroup_for(e.cgroup)) state->reclaim = e;
}

void MemoryModel::on(const EventsLost& e) {
  if (lost_.size() < kMaxLostStages || lost_.contains(e.stage)) lost_[e.stage] = e.total;
}

void MemoryModel::on(const MemorySampled& e) {
  CgroupState* state = cgroup_for(e.cgroup);
  if (state == nullptr) return;
  state->series.add({e.time, e.usage_bytes, e.nonreclaimable_bytes});
  if (e.detailed && e.time >= state->memory_stat_at) {
    state->memory_stat = e.memory_stat;
    state->memory_stat_at = e.time;
  }
  if (!e.resident_bytes.empty()) {
    state->resident_bytes = e.resident_bytes;
    state->resident_at = e.time;
  }
  if (e.kernel_oom_kills) state->kernel_oom_kills = e.kernel_oom_kills;
  if (state->sampled && e.time < state->sampled_at) return;
  set_limit(*state, e.time, e.limit_bytes);
  state->sampled = true;
  state->sampled_at = e.time;
  if (e.usage_bytes < state->usage_bytes / 2) state->growth_bytes_per_second.reset();
  state->usage_bytes = e.usage_bytes;
  state->nonreclaimable_bytes = e.nonreclaimable_bytes;
  update_growth(*state, std::nullopt);
}

void MemoryModel::on(const ContainerIdentified& e) {
  CgroupState* state = cgroup_for(e.cgroup);
  if (state == nullptr) return;
  // A path alone gives less than a bundle that was read for the same container.
  if (state->identity_from_bundle && !e.from_bundle && state->identity.id == e.identity.id) return;
  pods_.on_cgroup_erased(e.cgroup, state->identity);
  state->identity = e.identity;
  state->identity_from_bundle = e.from_bundle;
  pods_.on_container(e.cgroup, e.identity);
  pods_.complete(state->identity);
  name_siblings(e.identity);
}

// A pod's own cgroup has no bundle, but the bundles of its containers give the pod's name, also without the API.
void MemoryModel::name_siblings(const ContainerIdentity& named) {
  if (named.pod_name.empty() || named.pod_uid.empty()) return;
  for (const CgroupId cgroup : pods_.cgroups_of_uid(named.pod_uid)) {
    CgroupState* state = known(cgroup);
    if (state == nullptr || !state->identity.pod_name.empty()) continue;
    state->identity.pod_name = named.pod_name;
    state->identity.pod_namespace = named.pod_namespace;
  }
}

// Adds names that neither path nor bundle has, for cgroups that existed before the API reported their pod: at start-up
// the walk of all cgroups comes before the list of pods.
void MemoryModel::on(const PodSeen& e) {
  pods_.on(e);
  for (const CgroupId cgroup : pods_.cgroups_of(e)) {
    if (CgroupState* state = known(cgroup)) pods_.complete(state->identity);
  }
}

void MemoryModel::on(const CaptureFinished&) {}  // handled by the correlator

void MemoryModel::expire(MonotonicTime now) {
  const MonotonicTime oldest_kept = now - kLinger;
  processes_.expire(now, oldest_kept);
  pods_.expire(oldest_kept);
  while (!removed_.empty() && removed_.front().first < oldest_kept) {
    const auto [time, id] = removed_.front();
    removed_.pop_front();
    // A different time or none means that the id was used again since.
    if (const CgroupState* state = known(id); state != nullptr && state->removed_at == time) erase_cgroup(id);
  }
}

void MemoryModel::leave_parent(const CgroupState& state) {
  const auto siblings = children_.find(state.parent);
  if (siblings == children_.end()) return;
  siblings->second.erase(state.id);
  if (siblings->second.empty()) children_.erase(siblings);
}

void MemoryModel::erase_cgroup(CgroupId id) {
  auto it = cgroups_.find(id);
  if (it == cgroups_.end()) return;
  leave_parent(it->second);
  pods_.on_cgroup_erased(id, it->second.identity);
  cgroups_.erase(it);
}

void MemoryModel::set_parent(CgroupState& state, CgroupId parent) {
  if (state.parent == parent) return;
  leave_parent(state);
  state.parent = parent;
  children_[parent].insert(state.id);
}

CgroupState* MemoryModel::cgroup_for(CgroupId id) {
  if (!id) return nullptr;
  if (CgroupState* state = known(id)) return state;
  if (cgroups_.size() >= kMaxCgroups) {
    ++dropped_;
    return nullptr;
  }
  CgroupState& state = cgroups_[id];
  state.id = id;
  return &state;
}

CgroupState* MemoryModel::known(CgroupId id) {
  auto it = cgroups_.find(id);
  return it == cgroups_.end() ? nullptr : &it->second;
}

const CgroupState* MemoryModel::find_cgroup(CgroupId id) const {
  auto it = cgroups_.find(id);
  return it == cgroups_.end() ? nullptr : &it->second;
}

std::vector<const ProcessState*> MemoryModel::processes_under(CgroupId id, std::size_t max,
                                                              std::optional<MonotonicTime> at) const {
  std::vector<const ProcessState*> result;
  std::vector<CgroupId> queue{id};
  // A cgroup is queued once per parent link, and a link leads up only one way; the size bound is for a damaged
  // recording whose links form a ring.
  for (std::size_t next = 0; next < queue.size() && queue.size() <= kMaxCgroups && result.size() < max; ++next) {
    processes_.collect(queue[next], max, result, at);
    if (auto it = children_.find(queue[next]); it != children_.end()) {
      queue.insert(queue.end(), it->second.begin(), it->second.end());
    }
  }
  return result;
}

std::optional<EffectiveLimit> MemoryModel::effective_limit(CgroupId id) const {
  std::optional<EffectiveLimit> best;
  const CgroupState* state = find_cgroup(id);
  for (std::size_t depth = 0; state != nullptr && depth < kMaxDepth; ++depth, state = find_cgroup(state->parent)) {
    if (!state->sampled || !state->limit_bytes) continue;
    const std::uint64_t headroom = saturating_sub(*state->limit_bytes, state->usage_bytes);
    if (best && headroom >= saturating_sub(best->limit_bytes, best->usage_bytes)) continue;
    best = EffectiveLimit{state->id, *state->limit_bytes, state->usage_bytes, state->nonreclaimable_bytes};
  }
  return best;
}

const CgroupState* MemoryModel::container_of(CgroupId id) const {
  const CgroupState* state = find_cgroup(id);
  for (std::size_t depth = 0; state != nullptr && depth < kMaxDepth; ++depth, state = find_cgroup(state->parent)) {
    if (!state->identity.id.empty() || !state->identity.unit.empty()) return state;
  }
  return nullptr;
}

const ContainerIdentity* MemoryModel::identity_of(CgroupId id) const {
  const CgroupState* state = find_cgroup(id);
  for (std::size_t depth = 0; state != nullptr && depth < kMaxDepth; ++depth, state = find_cgroup(state->parent)) {
    const ContainerIdentity& who = state->identity;
    if (!who.id.empty() || !who.unit.empty() || !who.pod_uid.empty()) return &who;
  }
  return nullptr;
}

const std::set<CgroupId>& MemoryModel::children_of(CgroupId id) const {
  static const std::set<CgroupId> kNone;
  const auto found = children_.find(id);
  return found == children_.end() ? kNone : found->second;
}

std::vector<CgroupId> MemoryModel::path_up(CgroupId id) const {
  std::vector<CgroupId> path;
  while (id && path.size() < kMaxDepth) {
    path.push_back(id);
    const CgroupState* state = find_cgroup(id);
    id = state != nullptr ? state->parent : CgroupId{};
  }
  return path;
}

bool MemoryModel::is_under(CgroupId id, CgroupId ancestor) const {
  if (!id || !ancestor) return false;
  for (std::size_t depth = 0; depth < kMaxDepth; ++depth) {
    if (id == ancestor) return true;
    const CgroupState* state = find_cgroup(id);
    if (state == nullptr || !state->parent) return false;
    id = state->parent;
  }
  return false;
}

CgroupId MemoryModel::cgroup_of(const OomKill& kill) const {
  // The pid of a kill long ago may belong to another process by now.
  if (kill.victim_cgroup || kill.unwatched) return kill.victim_cgroup;
  const ProcessState* process = find_process(kill.victim);
  return process != nullptr ? process->cgroup : CgroupId{};
}

}  // namespace oomw
