// SPDX-License-Identifier: Apache-2.0
#include "correlate/limit_shares.h"

#include <algorithm>

#include "base/text.h"

namespace oomw {

namespace {

constexpr Nanoseconds kAfterKill = std::chrono::seconds(1);
constexpr std::size_t kShortId = 12;

std::string name_of(const CgroupState& state) {
  if (!state.identity.name.empty()) return state.identity.name;
  if (!state.identity.id.empty()) return state.identity.id.substr(0, kShortId);
  return std::string(base_name(state.path));
}

// The victims' own memory, exact at the kill.
std::uint64_t held_by_victims(CgroupId container, const KillEvidence& evidence, const MemoryModel& model) {
  std::uint64_t bytes = 0;
  for (const OomKill& kill : evidence.kills) {
    if (kill.victim_rss && model.is_under(model.cgroup_of(kill), container)) bytes += kill.victim_rss->anon_bytes;
  }
  return bytes;
}

std::optional<std::uint64_t> last_reading(const CgroupState& state, MonotonicTime until) {
  std::optional<std::uint64_t> bytes;
  for (const SeriesPoint& point : state.series.points()) {
    if (point.time <= until) bytes = point.usage_bytes;
  }
  return bytes;
}

LimitShare limit_share_of(const CgroupState& state, const KillEvidence& evidence, const MemoryModel& model) {
  const std::uint64_t held = held_by_victims(state.id, evidence, model);
  LimitShare share{name_of(state), last_reading(state, evidence.first + (held == 0 ? kAfterKill : Nanoseconds{})),
                   state.limit_bytes};
  if (held != 0) share.usage_bytes = std::max(share.usage_bytes.value_or(0), held);
  return share;
}

}  // namespace

std::vector<LimitShare> shares_of(const KillEvidence& evidence, const MemoryModel& model) {
  std::vector<LimitShare> shares;
  if (evidence.scope != "pod") return shares;
  for (const CgroupId container : evidence.sharers) {
    if (const CgroupState* state = model.find_cgroup(container))
      shares.push_back(limit_share_of(*state, evidence, model));
  }
  return shares;
}

}  // namespace oomw
