// SPDX-License-Identifier: Apache-2.0
#include "trends/leak_detector.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "trends/robust_slope.h"
#include "trends/series_shape.h"

namespace oomw {
namespace {

// How the sites of one report are judged.
struct Test {
  const LeakParameters& parameters;
  std::span<const double> seconds;
  std::optional<std::size_t> falls;  // see max_falls()
  double reference_bytes = 0;        // the limit, or what is live
  double sites = 1;                  // the number tested together
  // The upper bound of the whole heap's slope.
  double whole_slope_high = std::numeric_limits<double>::infinity();
};

double growth_share(std::span<const double> values) {
  std::size_t grew = 0;
  for (std::size_t i = 1; i < values.size(); ++i) grew += values[i] > values[i - 1];
  return values.size() < 2 ? 0 : static_cast<double>(grew) / static_cast<double>(values.size() - 1);
}

double pair_share(std::size_t readings, std::size_t falls) {
  const auto pairs = static_cast<double>(readings * (readings - 1)) / 2;
  return readings < 2 ? 0 : 1 - static_cast<double>(falls) / pairs;
}

// Counts the sampled blocks at both ends as if none were the same, which is too careful for a site that holds much for
// good.
double noise_of_gain(const SiteSeries& series) { return std::sqrt(series.variance.front() + series.variance.back()); }

bool is_material(const SiteTrend& trend, const Test& test) {
  const LeakParameters& p = test.parameters;
  const bool is_above_noise = trend.gained_bytes >= std::max(p.min_gained_bytes, p.min_noise_ratio * trend.noise_bytes);
  return is_above_noise && trend.slope * p.horizon_seconds >= p.min_limit_share * test.reference_bytes;
}

void add_slope(SiteTrend& trend, std::span<const double> values, const Test& test) {
  const Slope slope = robust_slope(test.seconds, values, test.falls);
  trend.slope = slope.value;
  trend.slope_low = slope.low;
  trend.slope_high = slope.high;
  trend.gained_bytes = slope.value * (test.seconds.back() - test.seconds.front());
}

bool is_growing(const SiteTrend& trend, const Test& test) {
  const LeakParameters& p = test.parameters;
  if (trend.growth_share >= p.min_growth_share) return true;
  return trend.pair_share >= p.min_pair_share && trend.chance * test.sites <= p.pair_false_alarm;
}

bool is_moved(const SiteTrend& trend, const Test& test) {
  return test.whole_slope_high < test.parameters.min_whole_share * trend.slope;
}

bool is_slowing(std::span<const double> values, const Test& test) {
  return std::ranges::any_of(std::array{1.0 / 2, 1.0 / 3}, [&](double part) {
    return recent_slope_ratio(test.seconds, values, part) < test.parameters.min_recent_slope_ratio;
  });
}

double range_of(const SiteSeries& series) {
  if (series.live_bytes.empty()) return 0;
  const auto [lowest, highest] = std::ranges::minmax(series.live_bytes);
  return highest - lowest;
}

// What the tested sites certainly lose, in bytes per second.
double certain_losses(const std::vector<SiteTrend>& sites) {
  double lost = 0;
  for (const SiteTrend& site : sites) lost += site.slope_high < 0 ? -site.slope : 0;
  return lost;
}

// With few readings, the whole heap's interval is too wide to show a move. If the whole seems not to grow and other
// sites certainly lose what this one gains, it moved all the same.
bool is_gained_from_others(const SiteTrend& trend, double lost, double whole_slope, const LeakParameters& p) {
  const double needed = p.min_whole_share * trend.slope;
  return whole_slope < needed && lost >= needed;
}

// What all sites certainly gain and lose, in bytes per second. The order of their readings decides: a site with too few
// sampled blocks to be called a leak may still be known to shrink.
struct CertainSlopes {
  double gained = 0, lost = 0;
};

CertainSlopes certain_slopes(const TrendSeries& series, const Test& test) {
  CertainSlopes sum;
  for (const SiteSeries& site : series.sites) {
    if (range_of(site) < test.parameters.min_gained_bytes) continue;
    const Slope slope = robust_slope(test.seconds, site.live_bytes, test.falls);
    if (slope.low > 0) sum.gained += slope.value;
    if (slope.high < 0) sum.lost -= slope.value;
  }
  return sum;
}

// An alarm needs growth that cannot have moved: no other sites certainly lost as much, except to sites that certainly
// gained it. A sawtooth beside it may make the whole seem to grow, so only the whole's certain growth counts.
bool is_alarming(const SiteTrend& trend, const CertainSlopes& certain, const Slope& whole, const LeakParameters& p) {
  if (p.is_overlapping && !(whole.low > 0 && whole.value >= p.min_whole_share * trend.slope)) return false;
  const double gained_by_others = certain.gained - (trend.slope_low > 0 ? trend.slope : 0);
  return !is_gained_from_others(trend, certain.lost - gained_by_others, whole.low, p);
}

// kLikelyLeak if nothing but the number of readings speaks against a leak, else `doubt`.
LeakJudgement short_of_proof(const SiteTrend& trend, std::span<const double> values, const Test& test,
                             LeakJudgement doubt) {
  constexpr double kRounding = 1e-9;
  const LeakParameters& p = test.parameters;
  const bool grows = is_growing(trend, test) && trend.return_share <= p.max_return_share;
  const bool is_likely =
      grows && !is_moved(trend, test) && trend.chance <= p.likely_chance + kRounding && is_material(trend, test);
  return is_likely && !is_slowing(values, test) ? LeakJudgement::kLikelyLeak : doubt;
}

LeakJudgement judgement_of(const SiteTrend& trend, std::span<const double> values, const Test& test) {
  const LeakParameters& p = test.parameters;
  if (trend.readings < p.min_readings) return short_of_proof(trend, values, test, LeakJudgement::kTooFewReadings);
  if (!is_growing(trend, test)) return LeakJudgement::kNotGrowing;
  if (trend.return_share > p.max_return_share) return LeakJudgement::kReturns;
  if (!(trend.slope_low > 0)) return short_of_proof(trend, values, test, LeakJudgement::kUncertain);
  if (is_slowing(values, test)) return LeakJudgement::kSlowing;
  if (is_moved(trend, test)) return LeakJudgement::kMoved;
  return is_material(trend, test) ? LeakJudgement::kLeak : LeakJudgement::kImmaterial;
}

SiteTrend judge(const SiteSeries& series, const Test& test) {
  SiteTrend trend;
  trend.site = series.site;
  trend.readings = series.live_bytes.size();
  trend.held_first_bytes = series.held_first_bytes;
  trend.held_last_bytes = series.held_last_bytes;
  if (trend.readings == 0) return trend;
  trend.first_bytes = series.live_bytes.front();
  trend.last_bytes = series.live_bytes.back();
  trend.return_share = return_share(series.live_bytes);
  trend.noise_bytes = noise_of_gain(series);
  const std::size_t falls = count_falls(series.live_bytes);
  trend.chance = chance_of_falls(trend.readings, falls);
  trend.growth_share = growth_share(series.live_bytes);
  trend.pair_share = pair_share(trend.readings, falls);
  add_slope(trend, series.live_bytes, test);
  trend.judgement = judgement_of(trend, series.live_bytes, test);
  return trend;
}

// Whether a site's range could be a leak's gain at all. Ignores the order of the readings.
bool is_worth_a_test(const SiteSeries& series, const LeakParameters& p) {
  const auto [lowest, highest] = std::ranges::minmax_element(series.live_bytes);
  if (lowest == series.live_bytes.end()) return false;
  const auto variance_at = [&](auto at) {
    return series.variance[static_cast<std::size_t>(at - series.live_bytes.begin())];
  };
  const double noise = std::sqrt(variance_at(lowest) + variance_at(highest));
  return *highest - *lowest >= std::max(p.min_gained_bytes, p.min_noise_ratio * noise);
}

}  // namespace

std::string_view to_string(LeakJudgement judgement) {
  static constexpr std::array<std::string_view, 9> kNames = {"leak",       "too_few_readings", "not_growing",
                                                             "returns",    "uncertain",        "slowing",
                                                             "immaterial", "likely_leak",      "moved"};
  return kNames[static_cast<std::size_t>(judgement)];
}

LeakReport find_leaks(const TrendSeries& series, std::optional<std::uint64_t> limit_bytes,
                      const LeakParameters& parameters) {
  LeakReport report;
  report.readings = series.seconds.size();
  report.sites_seen = series.sites_seen;
  if (series.seconds.empty()) return report;
  report.span_seconds = series.seconds.back() - series.seconds.front();
  std::vector<const SiteSeries*> tested;
  for (const SiteSeries& site : series.sites) {
    if (is_worth_a_test(site, parameters)) tested.push_back(&site);
  }
  report.sites_tested = tested.size();
  const double alpha = parameters.false_alarm / static_cast<double>(std::max<std::size_t>(tested.size(), 1));
  report.confidence = 1 - 2 * alpha;
  Test test{parameters, series.seconds, max_falls(report.readings, alpha),
            limit_bytes ? static_cast<double>(*limit_bytes) : series.whole.live_bytes.back()};
  test.sites = static_cast<double>(tested.size());
  const Slope whole =
      robust_slope(series.seconds, series.whole.live_bytes, max_falls(report.readings, parameters.whole_error));
  test.whole_slope_high = whole.high;
  report.is_undecided = !tested.empty() && !test.falls;
  std::vector<SiteTrend> judged;
  for (const SiteSeries* site : tested) judged.push_back(judge(*site, test));
  const double lost = certain_losses(judged);
  const CertainSlopes certain = certain_slopes(series, test);
  for (const SiteTrend& trend : judged) {
    if (is_gained_from_others(trend, lost, whole.value, parameters)) continue;
    if (trend.judgement == LeakJudgement::kLeak) {
      report.suspects.push_back(trend);
      report.is_alarming |= is_alarming(trend, certain, whole, parameters);
    }
    if (trend.judgement == LeakJudgement::kLikelyLeak) report.likely.push_back(trend);
  }
  if (!report.suspects.empty()) report.likely.clear();
  for (auto* found : {&report.suspects, &report.likely}) {
    std::ranges::stable_sort(*found, std::ranges::greater(), &SiteTrend::gained_bytes);
  }
  test.sites = 1;
  test.falls = max_falls(report.readings, parameters.false_alarm);
  report.whole = judge(series.whole, test);
  report.is_alarming |= !parameters.is_overlapping && report.whole.judgement == LeakJudgement::kLeak;
  return report;
}

LeakReport find_leaks(const HeapTrend& trend, std::optional<std::uint64_t> limit_bytes,
                      const LeakParameters& parameters) {
  return find_leaks(series_of(trend, parameters.min_gained_bytes), limit_bytes, parameters);
}

}  // namespace oomw
