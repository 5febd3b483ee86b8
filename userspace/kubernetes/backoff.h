// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace oomw {

// How long to wait after one more failure in a row: 1, 2, 4 ... 60 s, minus a random part of up to half (but at least
// 1 s), so that the daemons of 5,000 nodes do not return to a restarted API server all at once.
class Backoff {
 public:
  static constexpr Nanoseconds kFirst = std::chrono::seconds(1);
  static constexpr Nanoseconds kMost = std::chrono::seconds(60);

  // random: uniform in [0, 1).
  [[nodiscard]] Nanoseconds next(double random) {
    const Nanoseconds full = std::min(kMost, kFirst * (1 << std::min(failures_, kDoublings)));
    ++failures_;
    const auto half = static_cast<double>(full.count()) / 2;
    return std::max(kFirst, Nanoseconds(static_cast<std::int64_t>(half + half * random)));
  }
  void reset() { failures_ = 0; }
  [[nodiscard]] unsigned failures() const { return failures_; }

 private:
  static constexpr unsigned kDoublings = 6;
  unsigned failures_ = 0;
};

}  // namespace oomw
