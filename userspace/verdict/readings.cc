// SPDX-License-Identifier: Apache-2.0
#include "verdict/readings.h"

#include <algorithm>
#include <cmath>

#include "trends/robust_slope.h"

namespace oomw {

double seconds_before_kill(const Incident& incident, WallTime time) {
  return static_cast<double>(incident.time.ns - time.ns) / 1e9;
}

double value_at(const Readings& readings, double seconds) {
  const auto after = std::ranges::lower_bound(readings, seconds, std::ranges::greater(), &Reading::seconds);
  if (after == readings.begin()) return readings.front().bytes;
  if (after == readings.end()) return readings.back().bytes;
  const Reading& before = *(after - 1);
  const double span = before.seconds - after->seconds;
  return before.bytes + (after->bytes - before.bytes) * (before.seconds - seconds) / span;
}

double median_pace(const Readings& readings, double until_seconds) {
  constexpr int kSteps = 24;
  std::vector<double> times, bytes;
  for (int i = 0; i <= kSteps; ++i) {
    times.push_back((readings.front().seconds - until_seconds) * i / kSteps);
    bytes.push_back(value_at(readings, readings.front().seconds - times.back()));
  }
  return robust_slope(times, bytes, std::nullopt).value;
}

Readings memory_readings(const Incident& incident) {
  Readings readings;
  double reclaimable = 0;
  for (const Incident::Point& point : incident.series) {
    if (!point.nonreclaimable_bytes || point.time > incident.time) continue;
    readings.push_back({seconds_before_kill(incident, point.time), static_cast<double>(*point.nonreclaimable_bytes)});
    reclaimable = static_cast<double>(point.usage_bytes) - static_cast<double>(*point.nonreclaimable_bytes);
  }
  const double last = readings.empty() ? HUGE_VAL : readings.back().seconds;
  for (const Incident::Point& point : incident.series) {
    const double seconds = seconds_before_kill(incident, point.time);
    if (point.nonreclaimable_bytes || seconds >= last || seconds < 0) continue;
    readings.push_back({seconds, std::max(static_cast<double>(point.usage_bytes) - reclaimable, 0.0)});
  }
  // An ancestor's usage is not the container's.
  if (incident.usage_bytes && incident.scope == "container") {
    const auto anon = static_cast<double>(victims_anon_bytes(incident).value_or(0));  // cannot be reclaimed
    readings.push_back({0, std::max(static_cast<double>(*incident.usage_bytes) - reclaimable, anon)});
  }
  std::ranges::stable_sort(readings, std::ranges::greater(), &Reading::seconds);
  return readings;
}

std::optional<double> start_of_holder(const Incident& incident) {
  if (incident.victims.size() != 1 || incident.victim_count > 1) return std::nullopt;
  const IncidentVictim& victim = incident.victims.front();
  const std::uint64_t used = incident.usage_bytes.value_or(incident.limit_bytes.value_or(0));
  if (!victim.started || !victim.rss || victim.rss->anon_bytes < used / 2) return std::nullopt;
  return seconds_before_kill(incident, *victim.started);
}

}  // namespace oomw
