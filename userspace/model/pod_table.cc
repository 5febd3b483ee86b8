// SPDX-License-Identifier: Apache-2.0
#include "model/pod_table.h"

#include <algorithm>

#include "model/pod_annotations.h"

namespace oomw {
namespace {

void fill(std::string& field, const std::string& value) {
  if (field.empty()) field = value;
}

// The end of the run before `container.id`; nullptr: there was none, or it is not in this status.
const PodTermination* end_before(const PodContainer& container) {
  const auto& last = container.last_termination;
  if (last && last->container_id != container.id) return &*last;
  return container.earlier_termination ? &*container.earlier_termination : nullptr;
}

bool is_run_before(const PodContainer& container, const std::string& run) {
  const PodTermination* end = end_before(container);
  return end != nullptr && !run.empty() && !container.id.empty() && end->container_id == run && container.id != run;
}

// While a container waits for its next run, the status still names the last one, which is then found by `id`.
void add_container(PodFacts& facts, const PodContainer& container, const std::string& run) {
  facts.container = container;
  if (run.empty()) return;
  // A count without a run's id applies to every run: an ephemeral container is never restarted.
  if (container.id == run || container.id.empty()) {
    facts.restart_count = container.restart_count;
    if (const PodTermination* end = end_before(container)) facts.last_termination = *end;
  } else if (is_run_before(container, run) && container.restart_count.value_or(0) > 0) {
    facts.restart_count = *container.restart_count - 1;
  }
}

}  // namespace

void PodTable::on(const PodSeen& e) {
  is_told_ = true;
  auto it = pods_.find(e.uid);
  if (it == pods_.end() && pods_.size() >= kMax) {
    ++dropped_;
    return;
  }
  if (it != pods_.end()) unindex(it->second);
  const PodSeen& pod = pods_.insert_or_assign(e.uid, e).first->second;
  if (!pod.static_uid.empty()) static_uids_[pod.static_uid] = pod.uid;
  for (std::size_t i = 0; i < pod.containers.size(); ++i) {
    if (!pod.containers[i].id.empty()) containers_[pod.containers[i].id] = {pod.uid, i};
  }
}

void PodTable::on(const PodGone& e) {
  if (pods_.contains(e.uid)) gone_.emplace_back(e.time, e.uid);
}

void PodTable::on(const PodsCurrent& e) {
  is_told_ |= e.is_current;
  is_current_ = e.is_current;
}

void PodTable::unindex(const PodSeen& pod) {
  for (const PodContainer& container : pod.containers) {
    const auto it = containers_.find(container.id);
    if (it != containers_.end() && it->second.uid == pod.uid) containers_.erase(it);
  }
  const auto alias = static_uids_.find(pod.static_uid);
  if (alias != static_uids_.end() && alias->second == pod.uid) static_uids_.erase(alias);
}

// A uid is never used again, so a report of a pod after it was gone is a late one about the same pod.
void PodTable::expire(MonotonicTime oldest_kept) {
  for (; !gone_.empty() && gone_.front().first < oldest_kept; gone_.pop_front()) {
    const auto it = pods_.find(gone_.front().second);
    if (it == pods_.end()) continue;
    unindex(it->second);
    pods_.erase(it);
  }
}

// A pod's own cgroup has no container id but needs its names as well.
void PodTable::on_container(CgroupId cgroup, const ContainerIdentity& identity) {
  if (identity.pod_uid.empty()) return;
  cgroups_of_uid_[identity.pod_uid].insert(cgroup);
  if (!identity.id.empty()) cgroups_[identity.id] = cgroup;
}

void PodTable::on_cgroup_erased(CgroupId cgroup, const ContainerIdentity& identity) {
  forget(identity.pod_uid, cgroup);
  const auto it = cgroups_.find(identity.id);
  if (it != cgroups_.end() && it->second == cgroup) cgroups_.erase(it);
}

void PodTable::forget(const std::string& uid, CgroupId cgroup) {
  const auto it = cgroups_of_uid_.find(uid);
  if (it == cgroups_of_uid_.end()) return;
  it->second.erase(cgroup);
  if (it->second.empty()) cgroups_of_uid_.erase(it);
}

std::set<CgroupId> PodTable::cgroups_of_uid(const std::string& uid) const {
  const auto it = cgroups_of_uid_.find(uid);
  return it == cgroups_of_uid_.end() ? std::set<CgroupId>{} : it->second;
}

std::set<CgroupId> PodTable::cgroups_of(const PodSeen& pod) const {
  std::set<CgroupId> found = cgroups_of_uid(pod.uid);
  found.merge(cgroups_of_uid(pod.static_uid));
  for (const PodContainer& container : pod.containers) {
    if (const CgroupId cgroup = cgroup_of(container.id)) found.insert(cgroup);
  }
  return found;
}

CgroupId PodTable::cgroup_of(const std::string& container_id) const {
  const auto it = cgroups_.find(container_id);
  return it == cgroups_.end() ? CgroupId{} : it->second;
}

const PodContainer* PodTable::find_container(const std::string& container_id) const {
  const auto it = containers_.find(container_id);
  if (container_id.empty() || it == containers_.end()) return nullptr;
  return &pods_.at(it->second.uid).containers[it->second.index];
}

const PodSeen* PodTable::find_pod(const ContainerIdentity& identity) const {
  if (const auto place = containers_.find(identity.id); place != containers_.end() && !identity.id.empty()) {
    return &pods_.at(place->second.uid);
  }
  if (identity.pod_uid.empty()) return nullptr;
  const auto alias = static_uids_.find(identity.pod_uid);
  const auto it = pods_.find(alias == static_uids_.end() ? identity.pod_uid : alias->second);
  return it == pods_.end() ? nullptr : &it->second;
}

const PodContainer* PodTable::container_in(const PodSeen& pod, const ContainerIdentity& identity) const {
  if (const PodContainer* exact = find_container(identity.id)) return exact;
  for (const PodContainer& container : pod.containers) {
    if (is_run_before(container, identity.id)) return &container;
  }
  if (identity.name.empty()) return nullptr;
  const auto it = std::ranges::find(pod.containers, identity.name, &PodContainer::name);
  return it == pod.containers.end() ? nullptr : &*it;
}

std::optional<PodFacts> PodTable::facts_of(const ContainerIdentity& identity) const {
  const PodSeen* pod = find_pod(identity);
  if (pod == nullptr) return std::nullopt;
  PodFacts facts;
  facts.told_at = pod->time;
  facts.name_space = pod->name_space;
  facts.name = pod->name;
  facts.uid = pod->uid;
  facts.node = pod->node;
  facts.owner_kind = pod->owner_kind;
  facts.owner_name = pod->owner_name;
  facts.labels = pod->labels;
  facts.resource_attributes = resource_attributes_of(*pod);
  facts.is_cut = pod->is_cut;
  facts.workload = workload_of(*pod);
  if (const PodContainer* container = container_in(*pod, identity)) add_container(facts, *container, identity.id);
  return facts;
}

void PodTable::complete(ContainerIdentity& identity) const {
  const PodSeen* pod = find_pod(identity);
  if (pod == nullptr) return;
  fill(identity.pod_namespace, pod->name_space);
  fill(identity.pod_name, pod->name);
  fill(identity.pod_uid, pod->uid);
  const PodContainer* container = container_in(*pod, identity);
  if (container == nullptr) return;
  fill(identity.name, container->name);
  if (container->id == identity.id) fill(identity.image, container->image);
}

bool PodFacts::learn(const PodFacts& later) {
  const bool is_news = (!restart_count && later.restart_count) || (!last_termination && later.last_termination) ||
                       (!container && later.container) || (workload.kind.empty() && !later.workload.kind.empty());
  if (!restart_count) restart_count = later.restart_count;
  if (!last_termination) last_termination = later.last_termination;
  if (!container) container = later.container;
  if (workload.kind.empty()) workload = later.workload;
  return is_news;
}

}  // namespace oomw
