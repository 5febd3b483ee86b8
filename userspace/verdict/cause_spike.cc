// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "verdict/causes.h"
#include "verdict/thresholds.h"

namespace oomw {
namespace {

using namespace threshold;

// The gain in the last kSpikeSeconds, and when it began.
struct Rise {
  double lowest = 0;         // bytes
  double end = 0;            // bytes, at the kill
  double since = 0;          // seconds before the kill: the last time with at most a tenth of it gained
  double gained = 0;         // bytes
  double most_before = 0;    // bytes
  bool grew_before = false;  // at half of that pace or more: then the rise was not sudden
};

// A process that started within the window gained in it all that it holds.
std::optional<Reading> young_victim(const Incident& incident) {
  if (incident.victims.size() != 1 || !incident.victims[0].started || !incident.victims[0].rss) return std::nullopt;
  const double age = seconds_before_kill(incident, *incident.victims[0].started);
  if (age < 0 || age >= kSpikeSeconds) return std::nullopt;
  const auto used = static_cast<double>(*incident.usage_bytes);
  return Reading{age, std::max(used - static_cast<double>(incident.victims[0].rss->anon_bytes), 0.0)};
}

// Oldest first. If there is an older reading, one is interpolated at the window's start: below half of the limit
// readings are 10 s apart, and the first in the window may be the watermark of 50 %.
Readings in_window(const Incident& incident, const Readings& readings) {
  Readings window;
  if (!readings.empty() && readings.front().seconds >= kSpikeSeconds)
    window.push_back({kSpikeSeconds, value_at(readings, kSpikeSeconds)});
  for (const Reading& reading : readings) {
    if (reading.seconds < kSpikeSeconds) window.push_back(reading);
  }
  if (const auto young = young_victim(incident)) window.push_back(*young);
  std::ranges::stable_sort(window, std::ranges::greater(), &Reading::seconds);
  return window;
}

// Leaves out the readings of an earlier process in the same cgroup.
Readings of_this_life(const Incident& incident) {
  Readings readings = memory_readings(incident);
  const auto start = start_of_holder(incident);
  if (start) std::erase_if(readings, [&](const Reading& reading) { return reading.seconds > *start; });
  return readings;
}

std::optional<Rise> last_rise(const Incident& incident) {
  const Readings readings = of_this_life(incident);
  const Readings window = in_window(incident, readings);
  if (readings.empty() || window.empty()) return std::nullopt;
  Rise rise;
  rise.lowest = std::ranges::min_element(window, {}, &Reading::bytes)->bytes;
  rise.end = readings.back().bytes;
  rise.gained = rise.end - rise.lowest;
  for (const Reading& reading : window) {
    if (reading.bytes <= rise.lowest + kMaterial * rise.gained) rise.since = reading.seconds;
  }
  for (const Reading& reading : readings) {
    if (reading.seconds >= rise.since) rise.most_before = std::max(rise.most_before, reading.bytes);
  }
  if (rise.since > 0 && readings.front().seconds - rise.since >= kBeforeSpikeSeconds) {
    rise.grew_before = median_pace(readings, rise.since) >= kHalfPace * rise.gained / rise.since;
  }
  return rise;
}

std::string holder_text(const IncidentTrend& trend) {
  const auto most =
      std::ranges::max_element(trend.sites, {}, [](const TrendSite& site) { return site.figures.last_held_bytes; });
  if (most == trend.sites.end() || most->frames.empty()) return "";
  return fmt::format("most was held by {}: {}", name_of_site(*most), human_bytes(most->figures.last_held_bytes));
}

}  // namespace

std::optional<Finding> judge_spike(const Evidence& evidence) {
  const Incident& incident = evidence.incident;
  if (!incident.usage_bytes || !(evidence.limit() > 0)) return std::nullopt;
  const auto rise = last_rise(incident);
  if (!rise || rise->gained < kMost * evidence.limit()) return std::nullopt;
  Finding spike{"spike", kMeasured};
  spike.why.push_back(fmt::format("memory rose from {} to {} in the last {:.3g} s: {:.0f} % of the limit",
                                  bytes_text(rise->lowest), bytes_text(rise->end), rise->since,
                                  rise->gained / evidence.limit() * 100));
  if (rise->grew_before) {
    spike.confidence = kDoubtful;
    spike.why.emplace_back("but it had grown at no less than half of that pace before");
  }
  if (rise->end - rise->most_before < kLarge * evidence.limit()) {
    spike.confidence = kDoubtful;
    spike.why.push_back("but it had used " + bytes_text(rise->most_before) + " before, and come back");
  }
  const std::string holder = incident.trend ? holder_text(*incident.trend) : "";
  if (!holder.empty()) spike.why.push_back(holder);
  return spike;
}

}  // namespace oomw
