// SPDX-License-Identifier: Apache-2.0
#include "store/incident_filter.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/text.h"

namespace oomw {
namespace {

constexpr std::string_view kNoCause = "unknown";

bool is_part(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::optional<std::int64_t> seconds_of_unit(char unit) {
  constexpr std::array<std::pair<char, std::int64_t>, 4> kUnits = {{{'s', 1}, {'m', 60}, {'h', 3'600}, {'d', 86'400}}};
  for (const auto& [name, seconds] : kUnits) {
    if (name == unit) return seconds;
  }
  return std::nullopt;
}

void add(IncidentGroup& group, const IncidentSummary& summary) {
  const WallTime last = std::max(summary.time, summary.last_repeat.value_or(summary.time));
  if (group.kills == 0 || summary.time > group.newest.time) group.newest = summary;
  group.first = group.kills == 0 ? summary.time : std::min(group.first, summary.time);
  group.last = group.kills == 0 ? last : std::max(group.last, last);
  group.kills += 1 + summary.repeats;
}

}  // namespace

bool IncidentFilter::has_words() const {
  return !pod_namespace.empty() || !pod.empty() || !container.empty() || !cause.empty();
}

bool matches(const IncidentSummary& summary, const IncidentFilter& filter) {
  if (filter.since && summary.time < *filter.since) return false;
  if (filter.until && summary.time > *filter.until) return false;
  if (!filter.pod_namespace.empty() && summary.pod_namespace != filter.pod_namespace) return false;
  if (!is_part(summary.pod_name, filter.pod)) return false;
  if (!is_part(summary.container.empty() ? summary.place : summary.container, filter.container)) return false;
  if (filter.cause.empty()) return true;
  return summary.cause.empty() ? filter.cause == kNoCause : summary.cause == filter.cause;
}

std::vector<IncidentGroup> group_repeats(const std::vector<IncidentSummary>& summaries) {
  std::map<std::pair<std::string, std::string>, IncidentGroup> by_trouble;
  for (const IncidentSummary& summary : summaries) {
    // Without a workload nothing says that two are of one container.
    const std::string& whose = summary.workload.empty() ? summary.id : summary.workload;
    add(by_trouble[{whose, summary.cause}], summary);
  }
  std::vector<IncidentGroup> groups;
  groups.reserve(by_trouble.size());
  for (auto& [trouble, group] : by_trouble) groups.push_back(std::move(group));
  std::ranges::stable_sort(groups, std::greater(), &IncidentGroup::last);
  return groups;
}

std::vector<IncidentGroup> rows_of(const std::vector<IncidentSummary>& summaries, bool is_grouped) {
  if (is_grouped) return group_repeats(summaries);
  std::vector<IncidentGroup> rows;
  for (const IncidentSummary& summary : summaries) {
    rows.push_back({summary, 1 + summary.repeats, summary.time, summary.last_repeat.value_or(summary.time)});
  }
  return rows;
}

std::optional<WallTime> parse_since(std::string_view text, WallTime now) {
  constexpr std::uint64_t kMost = 100'000;  // of a unit: 270 years of days do not overflow
  if (const auto time = parse_rfc3339(text)) return time;
  if (text.size() < 2) return std::nullopt;
  const auto unit = seconds_of_unit(text.back());
  const auto count = parse_u64(text.substr(0, text.size() - 1));
  if (!unit || !count || *count > kMost) return std::nullopt;
  const std::int64_t back_ns = static_cast<std::int64_t>(*count) * *unit * 1'000'000'000;
  return WallTime{now.ns > back_ns ? now.ns - back_ns : 0};
}

}  // namespace oomw
