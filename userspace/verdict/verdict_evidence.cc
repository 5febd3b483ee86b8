// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/text.h"
#include "trends/leak_detector.h"
#include "trends/robust_slope.h"
#include "trends/series_shape.h"
#include "verdict/thresholds.h"
#include "verdict/verdict_evidence.h"

namespace oomw {

using namespace threshold;

namespace {

// The baseline leaves out the start-up of a long-lived process. For a short-lived one it would leave out most of
// what is known, so it applies only if it costs a fifth of the life at most.
auto first_that_counts(const Incident& incident, const IncidentTrend& trend) {
  const auto baseline = std::ranges::find(trend.points, true, &IncidentTrend::Point::is_baseline);
  if (baseline == trend.points.end()) return trend.points.begin();
  const double life = seconds_before_kill(incident, trend.points.front().time);
  return seconds_before_kill(incident, baseline->time) < (1 - kBaselineCost) * life ? trend.points.begin() : baseline;
}

// Whole lists only. If no collection published its counts between several lists, the first of them is used, as
// in trends/trend_series.h.
Readings live_of_trend(const Incident& incident, const IncidentTrend& trend) {
  Readings live;
  const IncidentTrend::Point* last = nullptr;
  for (auto point = first_that_counts(incident, trend); point != trend.points.end(); ++point) {
    if (!point->is_complete || (live.empty() && point->live_bytes == 0)) continue;  // 0: not collected yet
    const bool is_same = last != nullptr &&
                         (point->gc_cycle ? point->gc_cycle == last->gc_cycle : point->live_bytes == last->live_bytes);
    if (!is_same) live.push_back({seconds_before_kill(incident, point->time), static_cast<double>(point->live_bytes)});
    last = &*point;
  }
  return live;
}

// An HTTP profile shows what was live at a collection; an equal figure means the same collection.
Readings live_of_captures(const Incident& incident) {
  Readings live;
  if (incident.victims.empty()) return live;
  for (const IncidentCapture& capture : incident.captures) {
    if (!is_of_go(capture) || capture.pid != incident.victims.front().process.pid || !capture.complete) continue;
    const auto bytes = shows_last_collection(capture) ? capture.inuse_bytes : capture.live_bytes;
    if (bytes) live.push_back({seconds_before_kill(incident, capture.time), static_cast<double>(*bytes)});
  }
  std::ranges::stable_sort(live, std::ranges::greater(), &Reading::seconds);
  const auto is_same = [](const Reading& a, const Reading& b) { return a.bytes == b.bytes; };
  live.erase(std::unique(live.begin(), live.end(), is_same), live.end());
  return live;
}

// A starting process may allocate up to the limit before the first collection, so the first live figure may not be what
// stays. If all later readings rise from below the first, the first belongs to the start and is left out.
Readings without_start(Readings live) {
  if (live.size() < kReadingsOfStart || live_rise(live).return_share <= kMost) return live;
  Readings rest(live.begin() + 1, live.end());
  const LiveRise rise = live_rise(rest);
  return rise.is_chance_small && rise.return_share <= kLarge ? rest : live;
}

}  // namespace

LiveRise live_rise(const Readings& live) {
  LiveRise rise;
  if (live.size() < 2) return rise;
  const std::size_t pairs = live.size() * (live.size() - 1) / 2;
  std::size_t falls = 0;
  for (std::size_t i = 0; i < live.size(); ++i) {
    for (std::size_t j = i + 1; j < live.size(); ++j) falls += live[j].bytes <= live[i].bytes;
  }
  rise.falling_pairs = static_cast<double>(falls) / static_cast<double>(pairs);
  const auto allowed = max_falls(live.size(), kSmallChance);
  rise.is_chance_small = allowed && falls <= *allowed;
  std::vector<double> bytes;
  for (const Reading& reading : live) bytes.push_back(reading.bytes);
  rise.return_share = return_share(bytes);
  rise.gained = live.back().bytes - live.front().bytes;
  const double seconds = live.front().seconds - live.back().seconds;
  rise.steady_share = rise.gained > 0 ? median_pace(live, live.back().seconds) * seconds / rise.gained : 0;
  const double late = live.back().bytes - value_at(live, (live.front().seconds + live.back().seconds) / 2);
  rise.late_share = rise.gained > 0 ? late / rise.gained : 0;
  return rise;
}

Evidence::Evidence(const Incident& of)
    : incident(of),
      curve(MemoryCurve::of(of)),
      live(without_start(of.trend ? live_of_trend(of, *of.trend) : live_of_captures(of))),
      rise(live_rise(live)) {}

// Leaves out a quarter of the time so that no start-up counts as a leak: a service may load for that long, and if it is
// near its limit for long, the readings of its start are thinned out.
bool grows_for_long(const Evidence& evidence) {
  const MemoryCurve& curve = *evidence.curve;
  const bool is_live_known = !evidence.live.empty();  // a Go heap's memory grows in steps
  if (!is_live_known && curve.stay(kLoading, kMaterial * evidence.limit()) >= kMost) return false;
  return curve.slope_from(kLoading) * curve.seconds() * (1 - kLoading) >= kLarge * evidence.limit();
}

bool is_not_growing(const Evidence& evidence) {
  return evidence.incident.trend && evidence.incident.trend->whole.judgement == to_string(LeakJudgement::kNotGrowing);
}

bool came_at_once(const Evidence& evidence) {
  return evidence.live.size() >= kReadingsOfPace && evidence.rise.steady_share < kSteadyGain;
}

bool is_long_uncollected(const Evidence& evidence) {
  const Readings& live = evidence.live;
  return !live.empty() && live.back().seconds >= kLongAgo * live.front().seconds;
}

bool is_go(const Incident& incident) { return incident.trend || std::ranges::any_of(incident.captures, is_of_go); }

GoPace go_pace(const Incident& incident) {
  GoPace pace{2, std::nullopt, "GOGC=100, its default"};
  if (incident.victims.empty()) return pace;
  const GoConfig& go = incident.victims.front().go;
  if (go.gogc_percent) {
    pace.heap_factor = *go.gogc_percent < 0 ? 0 : 1 + *go.gogc_percent / 100.0;
    pace.said = *go.gogc_percent < 0 ? "GOGC=off in its environment"
                                     : fmt::format("GOGC={} in its environment", *go.gogc_percent);
  }
  if (go.memory_limit_bytes) {
    pace.memory_limit_bytes = static_cast<double>(*go.memory_limit_bytes);
    pace.said += fmt::format(", GOMEMLIMIT={}", human_bytes(*go.memory_limit_bytes));
  }
  return pace;
}

bool never_collects(const Evidence& evidence) {
  const GoPace pace = go_pace(evidence.incident);
  return pace.heap_factor == 0 && pace.memory_limit_bytes.value_or(HUGE_VAL) >= evidence.limit();
}

// The memory beside the heap is what the heap's own list does not explain, if that list is whole and was taken at
// the kill.
std::optional<double> go_need_bytes(const Evidence& evidence) {
  if (evidence.live.empty() || never_collects(evidence)) return std::nullopt;
  const Incident& incident = evidence.incident;
  const IncidentCapture* best = best_capture(incident);
  const GoPace pace = go_pace(incident);
  double beside = 0;
  if (best != nullptr && best->method == "at_kill" && best->complete && best->inuse_bytes) {
    const auto anon = static_cast<double>(victims_anon_bytes(incident).value_or(0));
    beside = std::max(anon - static_cast<double>(*best->inuse_bytes), 0.0);
  }
  const double live = std::ranges::max_element(evidence.live, {}, &Reading::bytes)->bytes;
  const double least = std::max(live + beside, pace.memory_limit_bytes.value_or(HUGE_VAL));
  return pace.heap_factor > 0 ? std::min(live * pace.heap_factor + beside, least) : least;
}

std::string bytes_text(double bytes) { return human_signed_bytes(std::max(0.0, bytes)); }

std::string name_of_site(const TrendSite& site) {
  if (site.frames.empty()) return "";
  const std::string name = printable(site.frames.front());
  return site.component.empty() ? name : name + " of " + printable(site.component);
}

}  // namespace oomw
