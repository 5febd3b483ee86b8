// SPDX-License-Identifier: Apache-2.0
#include "cli/read/line_budget.h"

namespace oomw::cli {

bool LineBudget::take(CgroupId cgroup, bool is_kill, MonotonicTime now) {
  const bool has_room = periods_.size() < kMaxCgroups || periods_.contains({cgroup, is_kill});
  Period& period = periods_.try_emplace({has_room ? cgroup : CgroupId{}, is_kill}, Period{now}).first->second;
  if (period.printed < kLines) {
    ++period.printed;
    return true;
  }
  ++period.left_out;
  ++total_;
  last_ = cgroup;
  return false;
}

std::vector<LineBudget::LeftOut> LineBudget::left_out(MonotonicTime now) {
  constexpr Nanoseconds kCheck = std::chrono::seconds(1);
  std::vector<LeftOut> found;
  if (now < next_check_) return found;
  next_check_ = now + kCheck;
  std::erase_if(periods_, [&](const auto& entry) {
    const auto& [key, period] = entry;
    if (now - period.begun < kPeriod) return false;
    if (period.left_out > 0) found.push_back({key.first, period.left_out});
    return true;
  });
  return found;
}

}  // namespace oomw::cli
