// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "base/clock.h"
#include "events/ids.h"

namespace oomw {

// When the memory of a container is analysed, of all moments at which its heap is captured. An analysis takes 0.05 to
// 2 s of CPU where a profile takes a millisecond, so one climb to the limit gets two:
//   - at the first capture, by default at 80 %;
//   - once more from kSecondPercent on, if it has grown by kGrownPoints since;
//   - and none for kRest after that, unless a kill ended the climb.
// None begins that could not end before the limit at the present growth: reading memory while its process is killed
// delays the end of that process, and the kernel may choose a second one meanwhile (memory/byte_source.h). Where there
// is no time for a whole one, a sample of the objects is read, or the composition alone; neither replaces more than it
// finds out. Pure; core thread, plan_for() on any. At most kMaxCgroups are remembered.
class AnalysisPolicy {
 public:
  static constexpr std::uint32_t kSecondPercent = 93;  // the level is 95 by default; usage may be a little less
  static constexpr std::uint32_t kGrownPoints = 5;
  static constexpr Nanoseconds kRest = std::chrono::minutes(5);
  static constexpr std::size_t kMaxCgroups = 1'024;

  // How long one may take, as a rule: to start a reader, then by the memory in use. The largest search for owners of a
  // Go heap took 2.6 ms/MiB, most 0.3 to 1.5.
  static constexpr Nanoseconds kStart = std::chrono::milliseconds(60);
  static constexpr Nanoseconds kEachMebibyte = std::chrono::microseconds(1500);
  // The composition: the maps, and 8 bytes for each page.
  static constexpr Nanoseconds kEachMebibyteOfPages = std::chrono::microseconds(50);
  static constexpr std::uint32_t kGrownPointsOfParts = 20;
  // A sample: where the objects are and what their types are called, the composition, and its part of the whole.
  static constexpr Nanoseconds kSampleStart = std::chrono::milliseconds(20);
  static constexpr Nanoseconds kEachMebibyteOfHeads = std::chrono::microseconds(50);
  static constexpr std::uint32_t kMaxOneIn = 64;  // a smaller sample shows little: 1 MiB of 64
  enum class Depth { kNone, kComposition, kSampled, kWhole };
  struct Plan {
    Depth depth = Depth::kNone;
    std::uint32_t one_in = 1;  // of a sample: of so many pools or regions one is read
    friend bool operator==(const Plan&, const Plan&) = default;
  };
  // What may be read in the time that is left. each_mebibyte: of a whole one, kEachMebibyte where the runtime is not
  // known. time_to_limit: at the present growth; nullopt: it does not grow.
  [[nodiscard]] static Plan plan_for(std::uint64_t usage_bytes, std::optional<Nanoseconds> time_to_limit,
                                     Nanoseconds each_mebibyte = kEachMebibyte);

  // Whether one of this depth is due. `percent`: of the limit.
  [[nodiscard]] bool wants(CgroupId cgroup, Depth depth, std::uint32_t percent, MonotonicTime now);
  // What the one that was due has found out, where there was less or more time than expected, or another runtime.
  void note(CgroupId cgroup, Depth found);
  void forget(CgroupId cgroup) { history_.erase(cgroup); }  // a kill, or removed

 private:
  struct History {
    MonotonicTime last;
    Depth depth = Depth::kNone;
    std::uint32_t percent = 0;
    bool is_second = false;
  };
  [[nodiscard]] bool is_due(const History& history, Depth depth, std::uint32_t percent, MonotonicTime now) const;
  std::map<CgroupId, History> history_;
};

}  // namespace oomw
