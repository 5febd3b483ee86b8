// SPDX-License-Identifier: Apache-2.0
#include "triggers/analysis_policy.h"

#include <algorithm>

namespace oomw {

bool AnalysisPolicy::has_time(std::uint64_t usage_bytes, std::optional<Nanoseconds> time_to_limit) {
  if (!time_to_limit) return true;
  constexpr std::uint64_t kMost = 1u << 20;  // MiB: what is larger takes as long as an analysis may
  const auto mebibytes = static_cast<std::int64_t>(std::min(usage_bytes >> 20, kMost));
  return *time_to_limit >= kStart + kEachMebibyte * mebibytes;
}

bool AnalysisPolicy::wants(CgroupId cgroup, std::uint32_t percent, MonotonicTime now) {
  const auto known = history_.find(cgroup);
  if (known != history_.end() && now - known->second.last < kRest) {
    History& history = known->second;
    if (history.is_second || percent < kSecondPercent || percent < history.percent + kGrownPoints) return false;
    history = {now, percent, true};
    return true;
  }
  if (known == history_.end() && history_.size() == kMaxCgroups) {
    history_.erase(std::ranges::min_element(history_, {}, [](const auto& entry) { return entry.second.last; }));
  }
  history_[cgroup] = {now, percent, false};
  return true;
}

}  // namespace oomw
