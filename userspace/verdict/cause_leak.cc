// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include <fmt/format.h>

#include "trends/leak_detector.h"
#include "verdict/causes.h"
#include "verdict/filler_answer.h"
#include "verdict/growth_answer.h"
#include "verdict/owner_answer.h"
#include "verdict/readings.h"
#include "verdict/thresholds.h"

namespace oomw {
namespace {

using namespace threshold;

double ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

std::string site_text(const TrendSite& site) {
  const TrendFigures& figures = site.figures;
  const double slope = figures.slope_bytes_per_second.value_or(0);
  return fmt::format(
      "{}: live {} to {}{}", name_of_site(site), bytes_text(static_cast<double>(figures.first_live_bytes)),
      bytes_text(static_cast<double>(figures.last_live_bytes)), slope > 0 ? ", " + bytes_text(slope) + "/s" : "");
}

// From the first usable reading to the kill.
double observed_seconds(const Evidence& evidence) { return evidence.live.empty() ? 0 : evidence.live.front().seconds; }

// The site that made most of the heap's gain; nullptr: none made half of it.
const TrendSite* main_grower(const IncidentTrend& trend) {
  const TrendSite* most = nullptr;
  for (const TrendSite& site : trend.sites) {
    const bool is_half =
        live_gain(site.figures) >= live_gain(trend.whole) / 2 || held_gain(site.figures) >= held_gain(trend.whole) / 2;
    if (is_half && (most == nullptr || held_gain(site.figures) > held_gain(most->figures))) most = &site;
  }
  return most;
}

// What the detector reports as a leak.
struct Called {
  double gained = 0;  // live bytes
  std::vector<std::string> why;
};

Called called_sites(const IncidentTrend& trend) {
  constexpr std::size_t kNamed = 3;
  Called called;
  for (const TrendSite& site : trend.sites) {
    if (site.figures.judgement != "leak") continue;
    called.gained += live_gain(site.figures);
    if (called.why.size() < kNamed) called.why.push_back(site_text(site));
  }
  if (called.why.empty() && trend.whole.judgement == "leak") {
    called.gained = live_gain(trend.whole);
    const TrendSite* most = main_grower(trend);
    called.why.push_back(most != nullptr ? "most of it: " + site_text(*most) : "no call site made half of that");
  }
  return called;
}

double confidence_of(double explained, double of_limit) {
  if (explained >= kMost && of_limit >= kLarge) return kSiteOfMost;
  return explained >= kLarge && of_limit >= kMaterial ? kTwoSigns : kBeside;
}

// If one site gains what others lose, memory only moved: at most the gain of the whole heap counts.
std::optional<Finding> detected(const Evidence& evidence) {
  if (!evidence.incident.trend || observed_seconds(evidence) < kSpikeSeconds) return std::nullopt;
  const IncidentTrend& trend = *evidence.incident.trend;
  const Called called = called_sites(trend);
  if (called.why.empty()) return std::nullopt;
  const double gained = std::min(called.gained, live_gain(trend.whole));
  const double explained = ratio(gained, live_gain(trend.whole)), of_limit = ratio(gained, evidence.limit());
  Finding leak{"leak", confidence_of(explained, of_limit)};
  leak.why.push_back(fmt::format(
      "{} hold more and more, over {} collections in {:.0f} s: {:.0f} % of what the live heap "
      "gained, {:.0f} % of the limit",
      trend.suspects == 0 ? std::string("all call sites together") : fmt::format("{} call site(s)", trend.suspects),
      trend.whole.readings, trend.span_seconds, explained * 100, of_limit * 100));
  leak.why.insert(leak.why.end(), called.why.begin(), called.why.end());
  return leak;
}

// The contents were more in the last quarter of the run than at the last reading before it.
bool is_more_in_last_quarter(const Evidence& evidence) {
  const std::vector<IncidentTrend::Point>& points = evidence.incident.contents_trend->points;
  const auto is_late = [&](const IncidentTrend::Point& point) {
    const double seconds = seconds_before_kill(evidence.incident, point.time);
    return evidence.curve->part_at(seconds) > kStartUp + (1 - kStartUp) * (kQuarters - 1) / kQuarters;
  };
  const auto late = std::ranges::find_if(points, is_late);
  const bool is_before_and_after = late != points.begin() && late != points.end();
  return is_before_and_after && points.back().held_bytes > std::prev(late)->held_bytes;
}

// Of its growth there are samples from the last seconds, and those of the end are of the code that grew most. Not of
// Java and Node: their names gain dead objects, too, so rising and standing still is how they look in health.
bool is_sampled_to_the_end(const Evidence& evidence) {
  constexpr double kEnd = (1 - kStartUp) / kQuarters / 2;
  const Incident& incident = evidence.incident;
  const std::string& of = incident.contents_trend->of;
  return (of == "cpython" || of == "native") && same_code_went_on(incident) &&
         evidence.curve->part_at(seconds_before_kill(incident, incident.growth->as_of)) >= 1 - kEnd;
}

// The last quarter that may be the one in which the memory stood still. Later than the second only if one name made
// most of what the contents gained, and what grew before the pause is known to have gone on after it: by the readings
// on both sides of the third, or by the code that touched the memory first.
int last_that_may_be_still(const Evidence& evidence) {
  const TrendSite* site = growing_name(evidence.incident);
  const bool is_named = site != nullptr && held_gain(site->figures) >= kMaterial * evidence.limit();
  if (!is_named || !evidence.curve) return kQuarters / 2;
  if (is_sampled_to_the_end(evidence)) return kQuarters;
  return is_more_in_last_quarter(evidence) ? kQuarters - 1 : kQuarters / 2;
}

// The memory that is never given back: see verdict.h. It rises in every quarter of the time. Without a collector it may
// stand still in one of the first two: malloc fills what a burst left behind before it takes more. Later a program may
// have had no processor or no requests: see last_that_may_be_still().
struct SteadyRise {
  double bytes = 0;  // from the first eighth on
  double per_second = 0;
  bool is_interrupted = false;  // it stood still for a quarter
};
std::optional<SteadyRise> steady_rise(const MemoryCurve& curve, int still_until, int may_stand_still) {
  SteadyRise rise{curve.at(1) - curve.floor_from(kStartUp), curve.floor_slope(kStartUp)};
  double before = curve.floor_from(kStartUp);
  for (int quarter = 1; quarter <= kQuarters; ++quarter) {
    const double part = kStartUp + (1 - kStartUp) * quarter / kQuarters;
    const double floor = curve.floor_from(part);
    const bool is_still = floor - before <= rise.bytes / kQuarters / 2;
    if (is_still && (quarter > still_until || may_stand_still-- == 0)) return std::nullopt;
    rise.is_interrupted = rise.is_interrupted || is_still;
    before = floor;
  }
  return rise;
}

// A leak's memory does not stand still over the second half of the run. If it does, the live heap must have
// risen in that half: Go then collects harder and harder, as below its own memory limit.
bool is_quiet_half_explained(const Evidence& evidence) {
  if (!evidence.curve) return true;
  const Readings& live = evidence.live;
  const double seconds = evidence.curve->seconds() * kMost;
  if (evidence.curve->slope_from(kMost) * seconds >= kMaterial * evidence.limit()) return true;
  return live.back().bytes - value_at(live, seconds) >= kLarge * (live.back().bytes - live.front().bytes);
}

// A start-up that reached its working size and stayed there rises too, but not late.
bool is_live_rising(const Evidence& evidence) {
  if (evidence.live.empty()) return false;
  const LiveRise& rise = evidence.rise;
  return rise.falling_pairs <= kFallsOfRise && rise.return_share <= LeakParameters{}.max_return_share &&
         rise.late_share >= kLarge && rise.gained >= kMaterial * evidence.limit() && is_quiet_half_explained(evidence);
}

// What stayed alive after the last collection is not known, but a leak goes on: the memory then rises at half of
// its earlier pace or more. Data that was loaded at the start does not. Used only if the last collection was
// long ago: right after one the memory stands still, because Go fills what was freed.
bool goes_on(const Evidence& evidence) {
  const Readings& live = evidence.live;
  if (!evidence.curve || live.size() < 2) return true;
  const MemoryCurve& curve = *evidence.curve;
  const double first = curve.part_at(live.front().seconds), last = curve.part_at(live.back().seconds);
  if (!(last > first) || !(last < 1)) return true;
  const double before = (curve.at(last) - curve.at(first)) / (last - first);
  return (curve.at(1) - curve.at(last)) / (1 - last) >= kHalfPace * before;
}

// With few collections each one counts for more, so a tenth of the time is already long ago.
bool few_go_on(const Evidence& evidence) {
  const Readings& live = evidence.live;
  return live.empty() || live.back().seconds < kMaterial * live.front().seconds || goes_on(evidence);
}

std::optional<Finding> curve_rises(const Evidence& evidence) {
  const bool is_collected = is_go(evidence.incident);
  const int still_until = last_that_may_be_still(evidence);
  const auto rise = evidence.curve ? steady_rise(*evidence.curve, still_until, is_collected ? 0 : 1) : std::nullopt;
  if (!rise || !(evidence.limit() > 0)) return std::nullopt;
  const double needed = is_collected ? kMost : kLarge;
  if (rise->bytes < needed * evidence.limit() || never_collects(evidence)) return std::nullopt;
  if (evidence.live.size() >= kReadingsOfRise && !is_live_rising(evidence)) return std::nullopt;
  if (!few_go_on(evidence)) return std::nullopt;
  const Incident& incident = evidence.incident;
  const bool is_named = owner_of(incident) != nullptr || named_filler(incident) != nullptr || shows_code(incident);
  return Finding{
      "leak",
      kEven,
      {fmt::format("memory that is never given back rose {} the {:.0f} s, by {} in all, {}/s: {:.0f} % of the limit{}",
                   rise->is_interrupted ? "in three quarters of" : "all", evidence.curve->seconds(),
                   bytes_text(rise->bytes), bytes_text(rise->per_second), rise->bytes / evidence.limit() * 100,
                   is_named ? "" : "; which code does it is not known")}};
}

// A second sign beside the memory's rise, where there is no heap profile: what made most of it keeps growing by name.
// Not by itself: a cache that fills until the kill grows like that, too.
void add_growing_name(const Evidence& evidence, Finding& leak) {
  const TrendSite* site = growing_name(evidence.incident);
  if (site == nullptr || site->figures.judgement != "leak") return;
  leak.confidence = std::max(leak.confidence, kTwoSigns);
  leak.why.push_back(fmt::format("{} keeps growing: {} to {}, in {:.0f} % of the intervals between {} readings",
                                 name_and_holder(*site),
                                 bytes_text(static_cast<double>(site->figures.first_held_bytes)),
                                 bytes_text(static_cast<double>(site->figures.last_held_bytes)),
                                 site->figures.growth_share * 100, site->figures.readings));
}

std::optional<Finding> few_collections(const Evidence& evidence, bool does_curve_rise) {
  const Readings& live = evidence.live;
  if (live.size() < kReadingsOfRise || !is_live_rising(evidence) || observed_seconds(evidence) < kSpikeSeconds) {
    return std::nullopt;
  }
  if (live.back().seconds > kTooLongAgo * observed_seconds(evidence)) return std::nullopt;
  if (!few_go_on(evidence)) return std::nullopt;
  const auto& trend = evidence.incident.trend;
  const TrendSite* site = trend ? main_grower(*trend) : nullptr;
  const LiveRise& rise = evidence.rise;
  const bool is_large = rise.gained >= kLarge * evidence.limit();
  if (!is_large && is_not_growing(evidence)) return std::nullopt;
  Finding leak{"leak", is_large && (site != nullptr || does_curve_rise) ? kTwoSigns : kEven};
  if (is_large && rise.is_chance_small) leak.confidence = kRareRise;
  leak.why.push_back(
      fmt::format("what {} collections in the last {:.0f} s left alive rose from {} to {}, {:.0f} % of their "
                  "pairs fell: {}",
                  live.size(), observed_seconds(evidence), bytes_text(live.front().bytes),
                  bytes_text(live.back().bytes), rise.falling_pairs * 100,
                  rise.is_chance_small ? "chance does that once in twenty times at most" : "too few to be sure"));
  if (site != nullptr) leak.why.push_back("most of it: " + site_text(*site));
  return leak;
}

// The growth that filled the limit was lasting: the median pace explains a quarter of the limit, and most of the
// live heap's gain. Growth at the start or in the last seconds is not a leak. If Go keeps its memory below its
// own limit, the memory does not grow, but the live heap does.
bool lasts(const Evidence& evidence) {
  const LiveRise& rise = evidence.rise;
  if (came_at_once(evidence) || (is_long_uncollected(evidence) && !goes_on(evidence))) return false;
  // For a long life the readings of memory cover only the end.
  if (!evidence.curve || evidence.curve->seconds() < observed_seconds(evidence) / 2) return true;
  if (grows_for_long(evidence)) return true;
  const bool is_collected = evidence.live.size() >= kReadingsOfPace && !is_long_uncollected(evidence);
  return is_collected && rise.steady_share >= kSteadiestGain && rise.gained >= kMost * evidence.limit();
}

}  // namespace

std::optional<Finding> judge_leak(const Evidence& evidence) {
  auto by_curve = curve_rises(evidence);
  if (by_curve) add_growing_name(evidence, *by_curve);
  std::optional<Finding> best;
  for (auto& leak : {detected(evidence), few_collections(evidence, by_curve.has_value()), by_curve}) {
    if (leak && (!best || leak->confidence > best->confidence)) best = leak;
  }
  if (!best || lasts(evidence)) return best;
  best->confidence = std::min(best->confidence, kBeside);
  best->why.emplace_back("but most of it came at once, at the start or at the end, and that is what filled the limit");
  return best;
}

}  // namespace oomw
