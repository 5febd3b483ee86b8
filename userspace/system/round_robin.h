// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "events/ids.h"

namespace oomw {

// Cgroups taken in turn, a few at a time, so that a schedule's reads spread over its period.
// Removal is lazy: take() calls `is_member` and drops the others in O(1). Not thread-safe.
class RoundRobin {
 public:
  void add(CgroupId id) { members_.push_back(id); }
  [[nodiscard]] std::size_t size() const { return members_.size(); }

  // The next members, at most `count` and none twice.
  template <typename IsMember>
  [[nodiscard]] std::vector<CgroupId> take(std::size_t count, const IsMember& is_member) {
    std::vector<CgroupId> taken;
    std::size_t left = members_.size();
    while (taken.size() < count && left-- > 0) {
      if (next_ >= members_.size()) next_ = 0;
      if (is_member(members_[next_])) {
        taken.push_back(members_[next_++]);
      } else {
        members_[next_] = members_.back();
        members_.pop_back();
      }
    }
    return taken;
  }

 private:
  std::vector<CgroupId> members_;
  std::size_t next_ = 0;
};

}  // namespace oomw
