// SPDX-License-Identifier: Apache-2.0
#include "triggers/analysis_policy.h"

#include <algorithm>

namespace oomw {

AnalysisPolicy::Depth AnalysisPolicy::depth_for(std::uint64_t usage_bytes, std::optional<Nanoseconds> time_to_limit) {
  if (!time_to_limit) return Depth::kWhole;
  constexpr std::uint64_t kMost = 1u << 20;  // MiB: what is larger takes as long as an analysis may
  const auto mebibytes = static_cast<std::int64_t>(std::min(usage_bytes >> 20, kMost));
  if (*time_to_limit >= kStart + kEachMebibyte * mebibytes) return Depth::kWhole;
  return *time_to_limit >= kStart + kEachMebibyteOfPages * mebibytes ? Depth::kComposition : Depth::kNone;
}

bool AnalysisPolicy::is_due(const History& history, Depth depth, std::uint32_t percent, MonotonicTime now) const {
  if (now - history.last >= kRest || depth > history.depth) return true;
  if (depth == Depth::kComposition) return history.depth == depth && percent >= history.percent + kGrownPointsOfParts;
  if (history.is_second) return false;
  return percent >= kSecondPercent && percent >= history.percent + kGrownPoints;
}

bool AnalysisPolicy::wants(CgroupId cgroup, Depth depth, std::uint32_t percent, MonotonicTime now) {
  if (depth == Depth::kNone) return false;
  const auto known = history_.find(cgroup);
  if (known == history_.end() && history_.size() == kMaxCgroups) {
    history_.erase(std::ranges::min_element(history_, {}, [](const auto& entry) { return entry.second.last; }));
  }
  if (known != history_.end() && !is_due(known->second, depth, percent, now)) return false;
  const bool is_second = known != history_.end() && now - known->second.last < kRest && known->second.depth == depth;
  history_[cgroup] = {now, depth, percent, is_second};
  return true;
}

}  // namespace oomw
