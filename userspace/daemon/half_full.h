// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <unordered_set>

#include "events/event.h"

namespace oomw {

// Finds the cgroups that come to half of their limit: from then on a kill is near enough for the reader process to be
// started ahead of it, 45 to 60 ms that no incident should wait for. Core thread.
class HalfFull {
 public:
  static constexpr std::size_t kMaxKnown = 16'384;

  // True when the cgroup was below half at its last sample, and no longer is. One that has no limit never is at half.
  [[nodiscard]] bool crosses(const MemorySampled& sample) {
    const bool is_half = sample.limit_bytes && sample.usage_bytes >= *sample.limit_bytes / 2;
    if (is_half) return below_.erase(sample.cgroup) > 0;
    if (below_.size() < kMaxKnown) below_.insert(sample.cgroup);
    return false;
  }
  void forget(CgroupId cgroup) { below_.erase(cgroup); }

 private:
  std::unordered_set<CgroupId> below_;
};

}  // namespace oomw
