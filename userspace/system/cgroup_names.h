// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <string>
#include <unordered_map>

#include "events/event.h"
#include "system/cgroup_fs.h"

namespace oomw {

// Turns paths that the kernel's log names into ids. A container's cgroup may be gone within milliseconds of its kill,
// and its removal may be known before the log is read. So paths are kept past CgroupRemoved, for the last kMaxGone
// cgroups. Not thread-safe.
class CgroupNames {
 public:
  static constexpr std::size_t kMaxGone = 256;

  void on_event(const Event& event) {
    if (const auto* created = std::get_if<CgroupCreated>(&event)) add(*created);
    if (const auto* removed = std::get_if<CgroupRemoved>(&event)) retire(removed->cgroup);
  }

  [[nodiscard]] const std::string* path_of(CgroupId id) const {
    const auto found = paths_.find(id);
    return found == paths_.end() ? nullptr : &found->second;
  }
  // The cgroup that has the path now; else the one that had it last.
  [[nodiscard]] CgroupId id_of(const std::string& path, const CgroupFs& cgroups) const {
    if (const auto id = cgroups.id_of(path); id.has_value()) return *id;
    const auto found = ids_.find(path);
    return found == ids_.end() ? CgroupId{} : found->second;
  }

 private:
  void add(const CgroupCreated& created) {
    if (!created.path_complete || paths_.size() >= CgroupFs::kMaxCgroups) return;
    paths_.insert_or_assign(created.cgroup, created.path);
    ids_.insert_or_assign(created.path, created.cgroup);
  }
  void retire(CgroupId id) {
    gone_.push_back(id);
    if (gone_.size() <= kMaxGone) return;
    remove(gone_.front());
    gone_.pop_front();
  }
  void remove(CgroupId id) {
    const auto found = paths_.find(id);
    if (found == paths_.end()) return;
    const auto by_path = ids_.find(found->second);
    if (by_path != ids_.end() && by_path->second == id) ids_.erase(by_path);
    paths_.erase(found);
  }

  std::unordered_map<CgroupId, std::string> paths_;
  std::unordered_map<std::string, CgroupId> ids_;
  std::deque<CgroupId> gone_;
};

}  // namespace oomw
