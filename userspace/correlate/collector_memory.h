// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <deque>
#include <vector>

#include "events/event.h"

namespace oomw {

// The Collectors' reports about themselves, kept for later kills. Core thread.
//   - of each process the first reading and the newest ones, so that growth covers the whole time observed;
//   - bounded: at most kMaxProcesses; the least recently updated one makes room. A reading is some KB.
class CollectorMemory {
 public:
  static constexpr std::size_t kMaxProcesses = 128;
  static constexpr std::size_t kMaxReadings = 8;

  void add(const CollectorSampled& reading);
  // Up to `until`, oldest first.
  [[nodiscard]] std::vector<CollectorSampled> of(ProcessKey process, MonotonicTime until) const;
  [[nodiscard]] std::size_t size() const { return processes_.size(); }

 private:
  struct Known {
    ProcessKey process;
    std::deque<CollectorSampled> readings;
  };
  std::deque<Known> processes_;  // least recently updated first
};

}  // namespace oomw
