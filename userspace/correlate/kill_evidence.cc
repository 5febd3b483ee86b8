// SPDX-License-Identifier: Apache-2.0
#include "correlate/kill_evidence.h"

#include <algorithm>

namespace oomw {

namespace {

// A reading of the pod that is older than the container's by more than this is not preferred.
constexpr Nanoseconds kStatAge = std::chrono::seconds(1);

// A cgroup that was discovered by a lookup is older than its created_at: at least as old as the victim.
std::optional<MonotonicTime> creation_of(CgroupId container, const OomKill& kill, const MemoryModel& model) {
  const CgroupState* state = model.find_cgroup(container);
  if (state == nullptr || !state->created_at || kill.victim.start_ticks == 0) {
    return state == nullptr ? std::nullopt : state->created_at;
  }
  const MonotonicTime start{static_cast<std::int64_t>(kill.victim.start_ticks * kNanosecondsPerTick)};
  return std::min(*state->created_at, start);
}

void take_place(KillEvidence& evidence, const LimitPlace& place, const MemoryModel& model) {
  evidence.owner = place.owner;
  evidence.sharers = place.sharers;
  if (place.scope != LimitScope::kUnknown) evidence.scope = to_string(place.scope);
  const bool is_inside = model.is_under(evidence.owner, evidence.container);
  evidence.source = is_inside ? evidence.owner : evidence.container;
  const bool is_above = place.scope == LimitScope::kAncestor || place.is_pods();
  evidence.pressed = is_above ? place.owner : evidence.source;
  evidence.stat_source = place.sharers.size() == 1 ? place.owner : evidence.source;
}

// No source named the limit's owner: it is a guess, and after the kill no limit appears full. A scope derived from a
// guess would be wrong evidence.
void forget_place(KillEvidence& evidence) {
  evidence.scope.clear();
  evidence.sharers.clear();
  evidence.pressed = evidence.stat_source = evidence.source;
}

// A pod's cgroup outlives its containers: an earlier reading of it may belong to an earlier container.
bool is_of_this_container(const CgroupState* stat, const KillEvidence& evidence) {
  if (stat == nullptr || stat->memory_stat.empty()) return false;
  return !evidence.container_created || stat->memory_stat_at >= *evidence.container_created;
}

// The pod's reading, or its container's where that is much newer: they differ by the sandbox.
const CgroupState* best_stat(const KillEvidence& evidence, const MemoryModel& model) {
  const CgroupState* wanted = model.find_cgroup(evidence.stat_source);
  const CgroupState* other = model.find_cgroup(evidence.source);
  if (!is_of_this_container(wanted, evidence)) wanted = nullptr;
  if (!is_of_this_container(other, evidence)) return wanted;
  return wanted == nullptr || other->memory_stat_at > wanted->memory_stat_at + kStatAge ? other : wanted;
}

void take_figures(KillEvidence& evidence, const MemoryModel& model) {
  if (const CgroupState* owner = model.find_cgroup(evidence.owner)) {
    evidence.owner_limit_bytes = owner->limit_bytes;
    if (!evidence.unwatched) evidence.limit_change = owner->limit_change;
  }
  if (evidence.unwatched) return;
  if (const CgroupState* stat = best_stat(evidence, model)) {
    evidence.memory_stat = stat->memory_stat;
    evidence.memory_stat_at = stat->memory_stat_at;
  }
  if (const CgroupState* pressed = model.find_cgroup(evidence.pressed)) evidence.reclaim = pressed->reclaim;
}

}  // namespace

void KillEvidence::add(const OomKill& kill) {
  last = std::max(last, kill.time);
  if (!group) group = kill.group;  // the kernel log reports it after the first victim
  if (kills.size() < kMaxVictims) {
    kills.push_back(kill);
  } else {
    ++victims_not_listed;
  }
}

void KillEvidence::name_one(const ResolvedKill& late, const MemoryModel& model) {
  if (kills.empty()) {
    const KillEvidence told = evidence_of(late, model);
    owner = told.owner;
    scope = told.scope;
    sharers = told.sharers;
    source = told.source;
    pressed = told.pressed;
    stat_source = told.stat_source;
    group = told.group;
    owner_limit_bytes = told.owner_limit_bytes;
    limit_change = told.limit_change;
  }
  --unnamed;
  add(late.kill);
}

bool KillEvidence::learn(const PodFacts& later) {
  const bool is_news = !pod || pod->learn(later);
  if (!pod) pod = later;
  is_in_pod = true;
  if (is_news) status_at = later.told_at;
  return is_news;
}

bool KillEvidence::apply(const StatusFinding& finding) {
  if (!finding.is_withdrawn) {
    disagreement = finding;
    return true;
  }
  if (!disagreement || disagreement->kind != finding.kind) return false;
  disagreement.reset();
  withdrawn = finding;
  return true;
}

KillEvidence evidence_of(const ResolvedKill& first, const MemoryModel& model) {
  const OomKill& kill = first.kill;
  KillEvidence evidence;
  evidence.kills.push_back(kill);
  evidence.first = evidence.last = kill.time;
  evidence.victim_cgroup = kill.victim_cgroup;
  evidence.group = kill.group;
  evidence.container = first.container;
  evidence.unwatched = kill.unwatched;
  if (const ContainerIdentity* who = model.identity_of(evidence.container)) {
    evidence.pod = model.pods().facts_of(*who);
    evidence.is_in_pod = evidence.pod || !who->pod_uid.empty() || !who->pod_name.empty();
  }
  evidence.container_created = creation_of(evidence.container, kill, model);
  evidence.lost = model.lost();
  take_place(evidence, first.place, model);
  take_figures(evidence, model);
  return evidence;
}

KillEvidence evidence_of(const UnobservedKills& counted, const std::vector<OomKill>& unplaced,
                         const MemoryModel& model) {
  OomKill nobody;
  nobody.time = counted.until;
  nobody.victim_cgroup = counted.cgroup;
  nobody.unwatched = counted.unwatched;
  KillEvidence evidence = evidence_of(resolved_by_model(nobody, model), model);
  evidence.kills.clear();
  forget_place(evidence);
  evidence.nobody = nobody;
  evidence.counted = counted;
  evidence.unnamed = counted.kills;
  const std::size_t kept = std::min(unplaced.size(), KillEvidence::kMaxUnplaced);
  evidence.unplaced.assign(unplaced.begin(), unplaced.begin() + static_cast<std::ptrdiff_t>(kept));
  return evidence;
}

}  // namespace oomw
