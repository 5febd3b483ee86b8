// SPDX-License-Identifier: Apache-2.0
#include "triggers/analysis_policy.h"

#include <algorithm>

namespace oomw {

AnalysisPolicy::Plan AnalysisPolicy::plan_for(std::uint64_t usage_bytes, std::optional<Nanoseconds> time_to_limit,
                                              Nanoseconds each_mebibyte) {
  if (!time_to_limit) return {Depth::kWhole, 1};
  constexpr std::uint64_t kMost = 1u << 20;  // MiB: what is larger takes as long as an analysis may
  const auto mebibytes = static_cast<std::int64_t>(std::min(usage_bytes >> 20, kMost));
  const Nanoseconds whole = each_mebibyte * mebibytes;
  if (*time_to_limit >= kStart + whole) return {Depth::kWhole, 1};
  const Nanoseconds composition = kStart + kEachMebibyteOfPages * mebibytes;
  const Nanoseconds left = *time_to_limit - composition - kSampleStart - kEachMebibyteOfHeads * mebibytes;
  if (left.count() > 0 && left * kMaxOneIn >= whole) {
    return {Depth::kSampled, static_cast<std::uint32_t>((whole.count() + left.count() - 1) / left.count())};
  }
  return {*time_to_limit >= composition ? Depth::kComposition : Depth::kNone, 1};
}

void AnalysisPolicy::note(CgroupId cgroup, Depth found) {
  const auto known = history_.find(cgroup);
  if (known == history_.end()) return;
  known->second.depth = found;
}

bool AnalysisPolicy::is_due(const History& history, Depth depth, std::uint32_t percent, MonotonicTime now) const {
  if (now - history.last >= kRest || depth > history.depth) return true;
  if (depth < history.depth) return false;
  if (depth == Depth::kComposition) return percent >= history.percent + kGrownPointsOfParts;
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
