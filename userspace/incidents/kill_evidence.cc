// SPDX-License-Identifier: Apache-2.0
#include "incidents/kill_evidence.h"

#include <algorithm>

#include "model/kill_ledger.h"

namespace oomw {

void KillEvidence::add(const OomKill& kill) {
  last = std::max(last, kill.time);
  if (!group) group = kill.group;  // the kernel log tells it after the first victim
  if (kills.size() < kMaxVictims) {
    kills.push_back(kill);
  } else {
    ++victims_not_listed;
  }
}

void KillEvidence::name_one(const OomKill& kill, const MemoryModel& model) {
  if (kills.empty()) {
    const KillEvidence told = evidence_of(kill, model);
    owner = told.owner;
    scope = told.scope;
    group = told.group;
    owner_limit_bytes = told.owner_limit_bytes;
    limit_change = told.limit_change;
  }
  --unnamed;
  add(kill);
}

KillEvidence evidence_of(const OomKill& first, const MemoryModel& model) {
  KillEvidence evidence;
  evidence.kills.push_back(first);
  evidence.first = evidence.last = first.time;
  evidence.victim_cgroup = model.cgroup_of(first);
  evidence.owner = limit_owner_of(first, model);
  evidence.group = first.group;
  if (const std::string_view scope = scope_of(first, model); scope != "unknown") evidence.scope = scope;
  const CgroupState* container = model.container_of(evidence.victim_cgroup);
  evidence.container = container != nullptr ? container->id : evidence.victim_cgroup;
  if (container != nullptr && !first.unwatched) evidence.pod = model.pods().facts_of(container->identity);
  evidence.source = model.is_under(evidence.owner, evidence.container) ? evidence.owner : evidence.container;
  evidence.lost = model.lost();
  evidence.unwatched = first.unwatched;
  if (const CgroupState* owner = model.find_cgroup(evidence.owner)) {
    evidence.owner_limit_bytes = owner->limit_bytes;
    if (!first.unwatched) evidence.limit_change = owner->limit_change;
  }
  if (const CgroupState* source = model.find_cgroup(evidence.source); source != nullptr && !first.unwatched) {
    evidence.memory_stat = source->memory_stat;
    evidence.memory_stat_at = source->memory_stat_at;
    evidence.reclaim = source->reclaim;
  }
  return evidence;
}

// Whose limit it was nobody said, and after the kill no limit looks full: it is a guess, and a scope
// made of a guess would be wrong evidence.
KillEvidence evidence_of(const UnobservedKills& counted, const std::vector<OomKill>& unplaced,
                         const MemoryModel& model) {
  OomKill nobody;
  nobody.time = counted.until;
  nobody.victim_cgroup = counted.cgroup;
  nobody.unwatched = counted.unwatched;
  KillEvidence evidence = evidence_of(nobody, model);
  evidence.kills.clear();
  evidence.scope.clear();
  evidence.nobody = nobody;
  evidence.counted = counted;
  evidence.unnamed = counted.kills;
  const std::size_t kept = std::min(unplaced.size(), KillEvidence::kMaxUnplaced);
  evidence.unplaced.assign(unplaced.begin(), unplaced.begin() + static_cast<std::ptrdiff_t>(kept));
  return evidence;
}

}  // namespace oomw
