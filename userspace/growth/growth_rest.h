// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/clock.h"

namespace oomw {

// How far a process has climbed: its memory rose by kStep above the most that it ever had. Pure.
class GrowthClimb {
 public:
  // More than the kernel's count may be off by, and less than three slots of the smallest limit.
  static constexpr std::uint64_t kStep = 512u << 10;

  // True: it climbed since the last call that was true, or since the first.
  bool climbs(std::uint64_t anon_bytes) {
    if (!top_bytes_) top_bytes_ = anon_bytes;
    if (anon_bytes < *top_bytes_ + kStep) return false;
    top_bytes_ = anon_bytes;
    return true;
  }

 private:
  std::optional<std::uint64_t> top_bytes_;
};

// When the program on page faults is attached: it costs every page fault of the machine 4 %, also where others are
// sampled. So it is attached
//   - for kHold after a process was armed or climbed: a container that stays at 70 % of its limit costs nothing;
//   - never more than kBurst and a quarter of the time: a climb of 25 s is sampled whole, a leak of hours a quarter of
//     the time. Over two minutes a page fault pays 2 %, over hours 1 %.
// Pure.
class GrowthRest {
 public:
  static constexpr Nanoseconds kHold = std::chrono::seconds(5);
  static constexpr Nanoseconds kBurst = std::chrono::seconds(20);
  static constexpr std::int64_t kShareDivisor = 4;
  // One turn on again lasts so long at least, lest the kernel's code is patched all the time.
  static constexpr Nanoseconds kLeast = std::chrono::seconds(2);

  // Called again and again; `is_attached`: how it was since the last call. True: it is to be attached now.
  bool decide(MonotonicTime now, bool is_attached, bool is_climbing) {
    if (last_) {
      const Nanoseconds elapsed = std::max(now - *last_, Nanoseconds(0));
      left_ = std::min(left_ + elapsed / kShareDivisor, kBurst);
      if (is_attached) left_ = std::max<Nanoseconds>(left_ - elapsed, -kLeast);
    }
    last_ = now;
    if (is_climbing) climbed_ = now;
    if (!climbed_ || now - *climbed_ >= kHold) return false;
    return is_attached ? left_ > Nanoseconds(0) : left_ >= kLeast;
  }

 private:
  std::optional<MonotonicTime> last_, climbed_;
  Nanoseconds left_ = kBurst;
};

}  // namespace oomw
