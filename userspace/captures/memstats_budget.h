// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>

#include "base/clock.h"
#include "base/rate_limit.h"

namespace oomw {

// Limits how many programs are asked for their MemStats in all: one incident may have a thousand victims, and a
// thousand containers may come near their limits at once. A program that is left out is counted, and its profile is
// still whole.
//   - kAtOnce in a row, then one per kRefill. An answer costs the program up to 0.2 s (memstats_fetch.h) and our worker
//     up to 1 s: 16 are 3 s of a core on the node, and one per 5 s is a 25th of it from then on.
// Pure except for its lock: any thread.
class MemStatsBudget {
 public:
  static constexpr int kAtOnce = 16;
  static constexpr Nanoseconds kRefill = std::chrono::seconds(5);

  // False: not now; counted.
  [[nodiscard]] bool take(MonotonicTime now) {
    const std::lock_guard lock(mutex_);
    const bool is_taken = limit_.take(now);
    if (!is_taken) ++left_out_;
    return is_taken;
  }
  [[nodiscard]] std::uint64_t left_out() const {
    const std::lock_guard lock(mutex_);
    return left_out_;
  }

 private:
  mutable std::mutex mutex_;
  RateLimit limit_{kAtOnce, kRefill};
  std::uint64_t left_out_ = 0;
};

}  // namespace oomw
