// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "events/ids.h"

namespace oomw::cli {

// How many lines about one cgroup are printed: kLines within kPeriod. The rest is counted and reported once the period
// is over, so that a container that swings around its limit cannot fill the node's journal. Lines of kills have a
// budget of their own. Pure; one thread.
class LineBudget {
 public:
  static constexpr std::uint32_t kLines = 30;
  static constexpr Nanoseconds kPeriod = std::chrono::seconds(10);
  static constexpr std::size_t kMaxCgroups = 1'024;  // beyond, the rest share one budget

  struct LeftOut {
    CgroupId cgroup;  // none: of several
    std::uint64_t lines = 0;
  };

  [[nodiscard]] bool take(CgroupId cgroup, bool is_kill, MonotonicTime now);
  // What was left out in periods that are over; each is returned once.
  [[nodiscard]] std::vector<LeftOut> left_out(MonotonicTime now);
  [[nodiscard]] std::uint64_t total_left_out() const { return total_; }
  [[nodiscard]] CgroupId last_left_out() const { return last_; }

 private:
  struct Period {
    MonotonicTime begun;
    std::uint32_t printed = 0;
    std::uint64_t left_out = 0;
  };
  std::map<std::pair<CgroupId, bool>, Period> periods_;
  MonotonicTime next_check_;
  std::uint64_t total_ = 0;
  CgroupId last_;
};

}  // namespace oomw::cli
