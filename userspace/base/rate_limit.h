// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace oomw {

// Allows `burst` in a row, then one per `every`; idle time saves up no more than the burst. Pure; for one thread, or
// under the owner's lock.
class RateLimit {
 public:
  constexpr RateLimit(int burst, Nanoseconds every) : slack_((burst - 1) * every), every_(every) {}

  [[nodiscard]] bool take(MonotonicTime now) {
    const MonotonicTime from = std::max(full_at_, now);
    if (from - now > slack_) return false;
    full_at_ = from + every_;
    return true;
  }
  [[nodiscard]] MonotonicTime next() const { return full_at_ - slack_; }  // take() is true from then on

 private:
  Nanoseconds slack_, every_;
  MonotonicTime full_at_{};  // when the whole burst is available again
};

}  // namespace oomw
