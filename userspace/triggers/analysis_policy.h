// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>

#include "base/clock.h"
#include "events/ids.h"

namespace oomw {

// When the memory of a container is analysed, of all moments at which its heap is captured. An analysis takes 0.05 to
// 2 s of CPU where a profile takes a millisecond, so one climb to the limit gets two:
//   - at the first capture, by default at 80 %;
//   - once more from kSecondPercent on, if it has grown by kGrownPoints since;
//   - and none for kRest after that, unless a kill ended the climb.
// Pure; core thread. At most kMaxCgroups are remembered.
class AnalysisPolicy {
 public:
  static constexpr std::uint32_t kSecondPercent = 93;  // the level is 95 by default; usage may be a little less
  static constexpr std::uint32_t kGrownPoints = 5;
  static constexpr Nanoseconds kRest = std::chrono::minutes(5);
  static constexpr std::size_t kMaxCgroups = 1'024;

  // `percent`: of the limit.
  [[nodiscard]] bool wants(CgroupId cgroup, std::uint32_t percent, MonotonicTime now);
  void forget(CgroupId cgroup) { history_.erase(cgroup); }  // a kill, or removed

 private:
  struct History {
    MonotonicTime last;
    std::uint32_t percent = 0;
    bool is_second = false;
  };
  std::map<CgroupId, History> history_;
};

}  // namespace oomw
