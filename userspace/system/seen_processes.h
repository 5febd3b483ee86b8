// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <unordered_map>

#include "events/ids.h"

namespace oomw {

// Processes that were read already, so that a watermark need not read a pod's processes again. Only a
// hint: at kMax it is cleared, which costs a second reading of each.
class SeenProcesses {
 public:
  static constexpr std::size_t kMax = 16'384;

  void add(ProcessKey key) {
    if (starts_.size() >= kMax) starts_.clear();
    starts_[key.pid] = key.start_ticks;
  }
  void remove(std::int32_t pid) { starts_.erase(pid); }
  [[nodiscard]] bool has(ProcessKey key) const {
    const auto found = starts_.find(key.pid);
    return found != starts_.end() && found->second == key.start_ticks;
  }

 private:
  std::unordered_map<std::int32_t, std::uint64_t> starts_;
};

}  // namespace oomw
