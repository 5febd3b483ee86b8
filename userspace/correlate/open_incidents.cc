// SPDX-License-Identifier: Apache-2.0
#include "correlate/open_incidents.h"

#include <algorithm>

namespace oomw {

std::optional<DecisionKey> OpenIncidents::decision_of(const OomKill& kill) {
  if (!kill.decision) return std::nullopt;
  return DecisionKey{kill.decision->ns, kill.trigger_pid};
}

std::set<CgroupId> OpenIncidents::cgroups_of(const KillEvidence& evidence) {
  return {evidence.owner, evidence.container, evidence.victim_cgroup, evidence.source};
}

OpenIncident& OpenIncidents::open(KillEvidence evidence) {
  const std::uint64_t number = next_number_++;
  OpenIncident& incident = open_[number];
  incident.number = number;
  incident.evidence = std::move(evidence);
  index_places(incident);
  by_container_.add(incident.evidence.container, number);
  if (!incident.evidence.kills.empty()) index_victim(incident, incident.evidence.chosen());
  if (incident.evidence.unnamed != 0) nameless_.emplace(number, incident.evidence.victim_cgroup);
  agenda_.emplace(incident.due, number);
  return incident;
}

void OpenIncidents::index_places(const OpenIncident& incident) {
  const std::uint64_t number = incident.number;
  const KillEvidence& about = incident.evidence;
  if (const auto decision = decision_of(about.chosen())) by_decision_.insert_or_assign(*decision, number);
  by_owner_.add(about.owner, number);
  by_place_.add({about.owner, about.container}, number);
  if (about.group) by_group_.add(about.group, number);
  for (const CgroupId cgroup : cgroups_of(about)) by_cgroup_.add(cgroup, number);
}

void OpenIncidents::unindex_places(const OpenIncident& incident) {
  const std::uint64_t number = incident.number;
  const KillEvidence& about = incident.evidence;
  if (const auto decision = decision_of(about.chosen())) by_decision_.erase(*decision);
  by_owner_.remove(about.owner, number);
  by_place_.remove({about.owner, about.container}, number);
  by_group_.remove(about.group, number);
  for (const CgroupId cgroup : cgroups_of(about)) by_cgroup_.remove(cgroup, number);
}

void OpenIncidents::index_victim(const OpenIncident& incident, const OomKill& kill) {
  by_victim_.insert_or_assign(kill.victim.pid, incident.number);
}

void OpenIncidents::add_victim(OpenIncident& incident, const OomKill& kill) {
  const CgroupId group = incident.evidence.group;
  const std::size_t listed = incident.evidence.kills.size();
  incident.evidence.add(kill);
  if (incident.evidence.kills.size() != listed) index_victim(incident, kill);
  if (!group && incident.evidence.group) by_group_.add(incident.evidence.group, incident.number);
}

OpenIncident* OpenIncidents::that_lacks_a_name(CgroupId victim_cgroup) {
  if (!victim_cgroup) return nullptr;
  std::size_t looked_at = 0;
  for (auto it = nameless_.rbegin(); it != nameless_.rend() && looked_at < kMaxGiven; ++it, ++looked_at) {
    if (it->second == victim_cgroup) return find(it->first);
  }
  return nullptr;
}

CgroupId OpenIncidents::only_place_that_lacks_a_name() const {
  return nameless_.size() == 1 ? nameless_.begin()->second : CgroupId{};
}

void OpenIncidents::name_victim(OpenIncident& incident, const ResolvedKill& late, const MemoryModel& model) {
  unindex_places(incident);
  incident.evidence.name_one(late, model);
  index_places(incident);
  index_victim(incident, late.kill);
  if (incident.evidence.unnamed == 0) nameless_.erase(incident.number);
}

void OpenIncidents::rest(OpenIncident& incident) {
  if (std::exchange(incident.resting, true)) return;
  unindex_places(incident);
  nameless_.erase(incident.number);
  if (incident.merged_decision) by_decision_.erase(*incident.merged_decision);
}

void OpenIncidents::close(OpenIncident& incident) {
  rest(incident);
  for (const OomKill& kill : incident.evidence.kills) {
    const auto listed = by_victim_.find(kill.victim.pid);
    if (listed != by_victim_.end() && listed->second == incident.number) by_victim_.erase(listed);
  }
  by_container_.remove(incident.evidence.container, incident.number);
  agenda_.erase({incident.due, incident.number});
  if (const auto known = by_id_.find(incident.id); known != by_id_.end() && known->second == incident.number) {
    by_id_.erase(known);
  }
  open_.erase(incident.number);
}

OpenIncident* OpenIncidents::find(std::uint64_t number) {
  const auto found = open_.find(number);
  if (found == open_.end()) return nullptr;
  ++looked_at_;
  return &found->second;
}

std::vector<OpenIncident*> OpenIncidents::given(const NumberIndex<CgroupId>& index, CgroupId key) {
  std::vector<OpenIncident*> result;
  for (const std::uint64_t number : index.newest(key, kMaxGiven)) result.push_back(find(number));
  return result;
}

OpenIncident* OpenIncidents::of_decision(const OomKill& kill) {
  const auto decision = decision_of(kill);
  const auto found = decision ? by_decision_.find(*decision) : by_decision_.end();
  return found == by_decision_.end() ? nullptr : find(found->second);
}

OpenIncident* OpenIncidents::of_victim(std::int32_t pid) {
  const auto found = by_victim_.find(pid);
  return found == by_victim_.end() ? nullptr : find(found->second);
}

OpenIncident* OpenIncidents::of_id(const std::string& id) {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : find(found->second);
}

void OpenIncidents::set_id(OpenIncident& incident, const std::string& id) {
  if (incident.id == id) return;
  incident.id = id;
  by_id_.insert_or_assign(id, incident.number);
}

std::size_t OpenIncidents::count_at(CgroupId owner, CgroupId container) const {
  return by_place_.all({owner, container}).size();
}

OpenIncident& OpenIncidents::merge_decision(const OomKill& kill, CgroupId owner, CgroupId container) {
  OpenIncident& incident = *find(*by_place_.all({owner, container}).rbegin());
  ++incident.evidence.merged_decisions;
  point_decision(incident, kill, false);
  return incident;
}

void OpenIncidents::repeat_decision(OpenIncident& incident, const OomKill& kill) {
  KillEvidence::Repeats& repeats = incident.evidence.repeats;
  if (repeats.count++ == 0) repeats.first = kill.time;
  repeats.last = std::max(repeats.last, kill.time);
  point_decision(incident, kill, true);
}

bool OpenIncidents::is_repeat(const OpenIncident& incident, const OomKill& kill) {
  return incident.is_repeat_merged && kill.decision && incident.merged_decision == decision_of(kill);
}

void OpenIncidents::point_decision(OpenIncident& incident, const OomKill& kill, bool is_repeat) {
  if (incident.merged_decision) by_decision_.erase(*incident.merged_decision);
  incident.merged_decision = decision_of(kill);
  incident.is_repeat_merged = is_repeat;
  if (incident.merged_decision) by_decision_.insert_or_assign(*incident.merged_decision, incident.number);
}

void OpenIncidents::schedule(OpenIncident& incident, MonotonicTime due) {
  agenda_.erase({incident.due, incident.number});
  incident.due = due;
  agenda_.emplace(due, incident.number);
}

OpenIncident* OpenIncidents::next_due() { return agenda_.empty() ? nullptr : find(agenda_.begin()->second); }

std::optional<MonotonicTime> OpenIncidents::next_due_time() const {
  if (agenda_.empty()) return std::nullopt;
  return agenda_.begin()->first;
}

}  // namespace oomw
