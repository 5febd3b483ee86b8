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

KillEvidence evidence_of(const OomKill& first, const MemoryModel& model) {
  KillEvidence evidence;
  evidence.kills.push_back(first);
  evidence.first = evidence.last = first.time;
  evidence.victim_cgroup = model.cgroup_of(first);
  evidence.owner = limit_owner_of(first, model);
  evidence.group = first.group;
  evidence.scope = scope_of(first, model);
  const CgroupState* container = model.container_of(evidence.victim_cgroup);
  evidence.container = container != nullptr ? container->id : evidence.victim_cgroup;
  if (container != nullptr) evidence.pod = model.pods().facts_of(container->identity);
  evidence.source = model.is_under(evidence.owner, evidence.container) ? evidence.owner : evidence.container;
  evidence.lost = model.lost();
  if (const CgroupState* owner = model.find_cgroup(evidence.owner)) {
    evidence.owner_limit_bytes = owner->limit_bytes;
    evidence.limit_change = owner->limit_change;
  }
  if (const CgroupState* source = model.find_cgroup(evidence.source)) {
    evidence.memory_stat = source->memory_stat;
    evidence.memory_stat_at = source->memory_stat_at;
    evidence.reclaim = source->reclaim;
  }
  return evidence;
}

}  // namespace oomw
