// SPDX-License-Identifier: Apache-2.0
#include "verdict/thrashing.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "verdict/readings.h"
#include "verdict/thresholds.h"

namespace oomw {
namespace {

// The oldest reading since which the memory was never below `bytes`; 0: the last one is.
double seconds_above(const Readings& readings, double bytes) {
  double seconds = 0;
  for (auto reading = readings.rbegin(); reading != readings.rend() && reading->bytes >= bytes; ++reading) {
    seconds = reading->seconds;
  }
  return seconds;
}

double stalled_seconds(const ReclaimSampled& reclaim) { return static_cast<double>(reclaim.stall_ns) / 1e9; }

// Of pages of files that had been reclaimed not long before; 0: not known. Of an older kernel of anonymous ones, too.
double refaulted_bytes(const Incident& incident) {
  constexpr double kSmallestPage = 4096;
  for (const char* name : {"workingset_refault_file", "workingset_refault"}) {
    const auto found = incident.memory_stat.find(name);
    if (found != incident.memory_stat.end()) return static_cast<double>(found->second) * kSmallestPage;
  }
  return 0;
}

// Whether all that was reclaimed and read again was so in about that time: before it, the container was never at its
// limit, as far back as its process. On a slow disk threads wait for what they read again, and little for reclaim.
bool came_to_limit_once(const Incident& incident, const Readings& readings, double seconds) {
  constexpr double kAtLimit = 0.97, kKnownLife = 0.8;  // readings begin within 10 s of a process
  const auto life = start_of_holder(incident);
  if (!life || readings.front().seconds < kKnownLife * *life) return false;
  const double limit = static_cast<double>(*incident.limit_bytes);
  return refaulted_bytes(incident) >= limit && std::ranges::none_of(incident.series, [&](const Incident::Point& point) {
           return seconds_before_kill(incident, point.time) > 2 * seconds &&
                  static_cast<double>(point.usage_bytes) >= kAtLimit * limit;
         });
}

}  // namespace

std::optional<double> thrashing_seconds(const Incident& incident) {
  if (incident.scope != "container" || !incident.limit_bytes || !incident.reclaim) return std::nullopt;
  if (incident.reclaim->reclaimed_bytes < *incident.limit_bytes) return std::nullopt;
  const Readings readings = memory_readings(incident);
  if (readings.empty()) return std::nullopt;
  const double seconds = seconds_above(readings, threshold::kFull * static_cast<double>(*incident.limit_bytes));
  const double start = std::min(readings.front().seconds, start_of_holder(incident).value_or(HUGE_VAL));
  const bool is_rest_known = start - seconds >= threshold::kSpikeSeconds;
  if (seconds < threshold::kBeforeSpikeSeconds || !is_rest_known) return std::nullopt;
  const bool is_stalled = stalled_seconds(*incident.reclaim) >= threshold::kLarge * seconds;
  return is_stalled || came_to_limit_once(incident, readings, seconds) ? std::optional(seconds) : std::nullopt;
}

Incident killed_before(Incident incident, double seconds) {
  incident.time.ns -= static_cast<std::int64_t>(seconds * 1e9);
  const auto is_later = [&](const auto& point) { return point.time > incident.time; };
  std::erase_if(incident.series, is_later);
  for (auto* trend : {&incident.trend, &incident.contents_trend}) {
    if (*trend) std::erase_if((*trend)->points, is_later);
  }
  return incident;
}

std::string thrashing_text(const Incident& incident, double seconds) {
  return fmt::format(
      "for the last {:.0f} s it was full and was thrashing: in its life its threads waited {:.0f} s for reclaim, which "
      "took back {}, more than the whole limit",
      seconds, stalled_seconds(*incident.reclaim), human_bytes(incident.reclaim->reclaimed_bytes));
}

}  // namespace oomw
