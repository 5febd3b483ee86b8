// SPDX-License-Identifier: Apache-2.0
#include "kubernetes/held_pods.h"

#include <functional>

#include "events/record.h"

namespace oomw {
namespace {

std::size_t content_of(PodSeen pod) {
  pod.time = {};
  pod.wall_offset_ns = 0;
  return std::hash<std::string>()(to_json_line(pod));
}

}  // namespace

std::optional<Event> HeldPods::on_pod(PodSeen pod) {
  auto it = pods_.find(pod.uid);
  if (it == pods_.end() && pods_.size() >= max_) {
    ++turned_away_;
    return std::nullopt;
  }
  const std::size_t content = content_of(pod);
  const bool has_changed = it == pods_.end() || it->second.content != content;
  pods_[pod.uid] = {content, list_};
  if (!has_changed) return std::nullopt;
  return pod;
}

std::optional<Event> HeldPods::on_gone(const std::string& uid, MonotonicTime now) {
  if (pods_.erase(uid) == 0) return std::nullopt;
  return PodGone{now, uid};
}

std::vector<Event> HeldPods::end_list(MonotonicTime now) {
  std::vector<Event> gone;
  for (auto it = pods_.begin(); it != pods_.end();) {
    if (it->second.list == list_) {
      ++it;
      continue;
    }
    gone.emplace_back(PodGone{now, it->first});
    it = pods_.erase(it);
  }
  return gone;
}

}  // namespace oomw
