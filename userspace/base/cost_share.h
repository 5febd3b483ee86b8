// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/clock.h"

namespace oomw {

// The time of others that one container may use: `allowed` within a minute. Whoever is over that rests for kRest, and
// twice as long each time until it kept to its share for as long as the last rest was. Pure; for one thread.
class CostShare {
 public:
  static constexpr Nanoseconds kPeriod = std::chrono::minutes(1);
  static constexpr Nanoseconds kRest = std::chrono::seconds(30);
  static constexpr Nanoseconds kLongestRest = std::chrono::minutes(16);

  [[nodiscard]] bool may_go(MonotonicTime now) const { return now >= rests_until_; }
  // Within the minute that `now` is in.
  [[nodiscard]] Nanoseconds used(MonotonicTime now) const {
    return now - begun_ < kPeriod ? used_ : Nanoseconds::zero();
  }
  [[nodiscard]] bool was_over(MonotonicTime now) const { return rest_ > Nanoseconds::zero() && !is_forgiven(now); }
  // Nothing about it needs to be remembered.
  [[nodiscard]] bool is_idle(MonotonicTime now) const {
    return may_go(now) && used(now) == Nanoseconds::zero() && !was_over(now);
  }

  void charge(Nanoseconds cost, Nanoseconds allowed, MonotonicTime now) {
    if (now - begun_ >= kPeriod) {
      begun_ = now;
      used_ = Nanoseconds::zero();
    }
    used_ += cost;
    if (used_ <= allowed || !may_go(now)) return;
    rest_ = was_over(now) ? std::min(rest_ * 2, kLongestRest) : kRest;
    rests_until_ = now + rest_;
    used_ = Nanoseconds::zero();
  }

 private:
  [[nodiscard]] bool is_forgiven(MonotonicTime now) const { return now - rests_until_ >= std::max(rest_, kPeriod); }

  MonotonicTime begun_{}, rests_until_{};
  Nanoseconds used_{0}, rest_{0};
};

}  // namespace oomw
