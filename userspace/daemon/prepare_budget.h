// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace oomw {

// How many containers may be prepared for a capture (their endpoints looked up) while many near
// their limits at once. A look-up walks the node's whole connection table, 5 ms of CPU: 1,000 of
// them would take from the node what it has least of at that moment. What is not prepared loses
// those 5 ms at its capture, nothing else, so it is not counted.
class PrepareBudget {
 public:
  static constexpr double kBurst = 16;
  static constexpr double kPerSecond = 10;  // a twentieth of a CPU

  [[nodiscard]] bool take(MonotonicTime now) {
    left_ = std::min(kBurst, left_ + to_seconds(now - last_) * kPerSecond);
    last_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  double left_ = kBurst;
  MonotonicTime last_;
};

}  // namespace oomw
