// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>

#include "base/clock.h"
#include "base/cost_share.h"
#include "base/fair_share.h"
#include "events/ids.h"

namespace oomw {

// What one container may have of the sampler's places and of its thread, which waits for the reader. Pure; for one
// thread.
class GrowthShares {
 public:
  // Of reading samples within a minute. A climb of 100 MiB took 0.03 to 0.1 s; a program that touches and gives back
  // 70 MiB without pause, 2,500 samples a second, 10 s in half a minute.
  static constexpr Nanoseconds kReading = std::chrono::seconds(10);
  // What a job costs that the reader did not survive: its next start, and what it knew of other programs.
  static constexpr Nanoseconds kFault = std::chrono::seconds(3);
  // Without a climb for so long, the only process of a tenant may lose its place.
  static constexpr Nanoseconds kIdle = std::chrono::seconds(30);
  static constexpr std::size_t kMaxOwners = 256;  // those beyond are one

  struct Place {
    ProcessKey process;
    const ShareOwner* owner = nullptr;
    MonotonicTime climbed{};  // or was armed
  };
  struct Loser {
    ShareOwner owner;
    bool is_over_share = false;         // its tenant has more than one place, or would have
    std::optional<ProcessKey> process;  // nullopt: the newcomer has to go without
  };
  // Whose place a further process of `newcomer` takes, all of `places` being taken. It comes from the container that
  // has more than its share, by who_loses(), and there from the process that climbed least lately; ties go to the
  // container that climbed least lately. Within the newcomer's own container or tenant, and where a tenant has this one
  // place, only from a process that idles.
  [[nodiscard]] static Loser who_gives(std::span<const Place> places, const ShareOwner& newcomer, MonotonicTime now);

  [[nodiscard]] bool may_read(const ShareOwner& owner, MonotonicTime now) const;
  // `is_fault`: the reader did not survive it.
  void charge(const ShareOwner& owner, Nanoseconds cost, bool is_fault, MonotonicTime now);

 private:
  [[nodiscard]] const ShareOwner& key_of(const ShareOwner& owner) const;

  std::map<ShareOwner, CostShare> reading_;
};

}  // namespace oomw
