// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace oomw {

// Decides when to save the ledger after a kill. The file is written whole, so a save for each of 1,000 kills in 1,000
// containers would write 80 MB: while kills keep coming, the interval between two saves doubles.
class LedgerPace {
 public:
  // Puts the save behind the incident in the writer's queue: the incident is submitted CorrelatorConfig::settle (5 ms)
  // after the kill, and its fsyncs go first.
  static constexpr Nanoseconds kShortest = std::chrono::milliseconds(7);
  static constexpr Nanoseconds kLongest = std::chrono::milliseconds(500);

  // The delay of the save for the newest kill.
  [[nodiscard]] Nanoseconds delay(MonotonicTime now) {
    const bool is_quiet = now - last_asked_ > 2 * kLongest;
    last_asked_ = now;
    delay_ = is_quiet ? kShortest : std::min(2 * delay_, kLongest);
    return delay_;
  }

 private:
  MonotonicTime last_asked_{-kLongest.count() * 4};
  Nanoseconds delay_ = kShortest;
};

}  // namespace oomw
