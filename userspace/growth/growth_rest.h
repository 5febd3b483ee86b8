// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "base/clock.h"
#include "base/fair_share.h"

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

// Time that the program may be attached: at first `burst`, and so many percent of the time that passes. Pure.
class AttachedTime {
 public:
  // One turn on again lasts so long at least, lest the kernel's code is patched all the time.
  static constexpr Nanoseconds kLeast = std::chrono::seconds(2);

  AttachedTime(Nanoseconds burst, std::int64_t percent) : burst_(burst), percent_(percent) {}

  void pass(Nanoseconds elapsed, bool is_used) {
    left_ = std::min(left_ + elapsed * percent_ / 100, burst_);
    if (is_used) left_ = std::max<Nanoseconds>(left_ - elapsed, -burst_);
  }
  [[nodiscard]] bool allows(bool is_attached) const { return is_attached ? left_ > Nanoseconds(0) : left_ >= kLeast; }
  [[nodiscard]] bool is_full() const { return left_ == burst_; }

 private:
  Nanoseconds burst_, left_ = burst_;
  std::int64_t percent_;
};

// When the program on page faults is attached: it costs every page fault of the machine 4 %, also where others are
// sampled. So it is attached
//   - for kHold after a process was armed or climbed: a container that stays at 70 % of its limit costs nothing;
//   - for one container never more than 20 s and a quarter of the time: a climb of 25 s is sampled whole, a leak of
//     hours a quarter of the time. All that climb while it is attached have that time and pay for it, so many that
//     climb together take no more than one does;
//   - for a namespace twice those seconds and 29 % of the time, for all together three times and a third: what one
//     container or namespace that climbs for ever leaves is enough for the next one's 25 s. Over hours a page fault
//     pays 1 % for one container, and never more than 1.5 %.
// Pure.
class GrowthRest {
 public:
  static constexpr Nanoseconds kHold = std::chrono::seconds(5);
  static constexpr Nanoseconds kBurst = std::chrono::seconds(20);
  static constexpr std::int64_t kPercent = 25, kPercentOfSpace = 29, kPercentOfAll = 33;
  static constexpr std::size_t kMaxOwners = 256;  // those beyond are one

  // Called again and again; `is_attached`: how it was since the last call; `climbing`: whose processes were armed or
  // climbed since. True: it is to be attached now.
  [[nodiscard]] bool decide(MonotonicTime now, bool is_attached, const std::set<ShareOwner>& climbing) {
    const Nanoseconds elapsed = last_ ? std::max(now - *last_, Nanoseconds(0)) : Nanoseconds(0);
    all_.pass(elapsed, is_attached);
    for (Payers* payers : {&containers_, &spaces_}) {
      for (auto& [name, payer] : *payers) payer.time.pass(elapsed, is_attached && payer.wants(*last_));
      std::erase_if(*payers,
                    [&](const auto& entry) { return entry.second.time.is_full() && !entry.second.wants(now); });
    }
    last_ = now;
    for (const ShareOwner& owner : climbing) {
      const bool has_place = containers_.contains(owner) || containers_.size() < kMaxOwners;
      const ShareOwner name = has_place ? owner : ShareOwner{};
      containers_.try_emplace(name, Payer{{kBurst, kPercent}, {}}).first->second.climbed = now;
      const ShareOwner space = tenant_of(name);
      spaces_.try_emplace(space, Payer{{2 * kBurst, kPercentOfSpace}, {}}).first->second.climbed = now;
    }
    const bool is_due = std::ranges::any_of(containers_, [&](const auto& entry) {
      const auto& [owner, payer] = entry;
      return payer.wants(now) && payer.time.allows(is_attached) &&
             spaces_.at(tenant_of(owner)).time.allows(is_attached);
    });
    return is_due && all_.allows(is_attached);
  }

 private:
  struct Payer {
    AttachedTime time;
    MonotonicTime climbed;
    [[nodiscard]] bool wants(MonotonicTime now) const { return now - climbed < kHold; }
  };
  using Payers = std::map<ShareOwner, Payer>;  // that climb, or took time lately

  std::optional<MonotonicTime> last_;
  AttachedTime all_{3 * kBurst, kPercentOfAll};
  Payers containers_, spaces_;
};

}  // namespace oomw
