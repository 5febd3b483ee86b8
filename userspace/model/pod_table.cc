// SPDX-License-Identifier: Apache-2.0
#include "model/pod_table.h"

#include <algorithm>

namespace oomw {
namespace {

void fill(std::string& field, const std::string& value) {
  if (field.empty()) field = value;
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

// A uid is never used again, so a pod told of after it was gone is a late word about the same one.
void PodTable::expire(MonotonicTime oldest_kept) {
  for (; !gone_.empty() && gone_.front().first < oldest_kept; gone_.pop_front()) {
    const auto it = pods_.find(gone_.front().second);
    if (it == pods_.end()) continue;
    unindex(it->second);
    pods_.erase(it);
  }
}

void PodTable::on_container(CgroupId cgroup, const ContainerIdentity& identity) {
  if (!identity.id.empty() && !identity.pod_uid.empty()) cgroups_[identity.id] = cgroup;
}

void PodTable::on_cgroup_erased(CgroupId cgroup, const ContainerIdentity& identity) {
  const auto it = cgroups_.find(identity.id);
  if (it != cgroups_.end() && it->second == cgroup) cgroups_.erase(it);
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
  if (identity.name.empty()) return nullptr;
  const auto it = std::ranges::find(pod.containers, identity.name, &PodContainer::name);
  return it == pod.containers.end() ? nullptr : &*it;
}

std::optional<PodFacts> PodTable::facts_of(const ContainerIdentity& identity) const {
  const PodSeen* pod = find_pod(identity);
  if (pod == nullptr) return std::nullopt;
  PodFacts facts{pod->time,       pod->name_space, pod->name,   pod->uid,     pod->node,
                 pod->owner_kind, pod->owner_name, pod->labels, std::nullopt, pod->is_cut};
  if (const PodContainer* container = container_in(*pod, identity)) facts.container = *container;
  return facts;
}

void PodTable::complete(ContainerIdentity& identity) const {
  const PodSeen* pod = find_pod(identity);
  if (pod == nullptr) return;
  fill(identity.pod_namespace, pod->name_space);
  fill(identity.pod_name, pod->name);
  fill(identity.pod_uid, pod->uid);
  const PodContainer* container = find_container(identity.id);
  if (container == nullptr) return;
  fill(identity.name, container->name);
  fill(identity.image, container->image);
}

}  // namespace oomw
