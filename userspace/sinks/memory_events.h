// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "events/leak_suspicion.h"
#include "model/memory_model.h"
#include "sinks/otlp_record.h"

namespace oomw {

inline constexpr std::string_view kSuspectedLeakEvent = "oomwitness.suspected_leak";
inline constexpr std::string_view kNearLimitEvent = "oomwitness.near_limit";

// Which containers somebody should hear of before the kernel kills in them:
//   - kNearLimitEvent: what cannot be reclaimed was at kNearPercent of the limit that stops it first in every reading
//     of `near_for`; again after kNearAgain at the earliest. Page cache does not count: it fills a container in order;
//   - kSuspectedLeakEvent: a heap in it keeps growing where it was (HeapTrends); once in a container's life.
// At most kMostAnHour in all; what is beyond is counted and said never. Pure: no clock of its own.
class MemoryEvents {
 public:
  static constexpr unsigned kNearPercent = 90;
  static constexpr Nanoseconds kNearAgain = std::chrono::hours(1);
  static constexpr unsigned kMostAnHour = 120;
  // A reading older than this says nothing of now.
  static constexpr Nanoseconds kFresh = std::chrono::seconds(30);

  explicit MemoryEvents(Nanoseconds near_for) : near_for_(near_for) {}
  // Call every few seconds. suspicions: the processes whose heaps were judged. O(cgroups).
  [[nodiscard]] std::vector<OtlpRecord> observe(const MemoryModel& model, const LeakSuspicions& suspicions,
                                                MonotonicTime now, std::int64_t wall_offset_ns,
                                                const OtlpMapping& mapping);
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  struct Watched {
    std::optional<MonotonicTime> near_since, said_near;
    bool has_said_leak = false;
  };
  void forget_the_gone(const MemoryModel& model);
  [[nodiscard]] bool is_near_long_enough(const CgroupState& state, const MemoryModel& model, MonotonicTime now);
  [[nodiscard]] bool may_say_one_more(MonotonicTime now);

  const Nanoseconds near_for_;
  std::map<CgroupId, Watched> watched_;
  std::uint64_t left_out_ = 0;
  unsigned said_ = 0;  // in the hour since hour_
  std::optional<MonotonicTime> hour_;
};

}  // namespace oomw
