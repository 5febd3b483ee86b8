// SPDX-License-Identifier: Apache-2.0
#include "trends/leak_detector.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "trends/robust_slope.h"

namespace oomw {
namespace {

// How the sites of one report are judged.
struct Test {
  const LeakParameters& parameters;
  std::span<const double> seconds;
  std::optional<std::size_t> falls;  // see max_falls()
  double reference_bytes = 0;        // the limit, or what is live
};

double growth_share(std::span<const double> values) {
  std::size_t grew = 0;
  for (std::size_t i = 1; i < values.size(); ++i) grew += values[i] > values[i - 1];
  return values.size() < 2 ? 0 : static_cast<double>(grew) / static_cast<double>(values.size() - 1);
}

// The largest fall from an earlier peak, of the whole range.
double return_share(const SiteSeries& series) {
  const double range = series.most() - series.least();
  double peak = 0, fall = 0;
  for (const double value : series.live_bytes) {
    peak = std::max(peak, value);
    fall = std::max(fall, peak - value);
  }
  return range > 0 ? fall / range : 0;
}

// The sampled blocks at both ends as if none were the same: what is too careful for a site that holds
// much for good.
double noise_of_gain(const SiteSeries& series) { return std::sqrt(series.variance.front() + series.variance.back()); }

// Slope of the last `part` of the time over the slope until then; 1 where that cannot be said.
double recent_slope_ratio(std::span<const double> seconds, std::span<const double> values, double part) {
  constexpr std::size_t kLeast = 3;
  if (values.size() < 2 * kLeast) return 1;
  const double from = seconds.back() - (seconds.back() - seconds.front()) * part;
  auto split = static_cast<std::size_t>(std::ranges::lower_bound(seconds, from) - seconds.begin());
  split = std::clamp(split, kLeast - 1, values.size() - kLeast);
  const double before = robust_slope(seconds.first(split + 1), values.first(split + 1), std::nullopt).value;
  const double recent = robust_slope(seconds.subspan(split), values.subspan(split), std::nullopt).value;
  return before > 0 ? recent / before : 1;
}

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

LeakJudgement judgement_of(const SiteTrend& trend, std::span<const double> values, const Test& test) {
  const LeakParameters& p = test.parameters;
  if (trend.readings < p.min_readings) return LeakJudgement::kTooFewReadings;
  if (trend.growth_share < p.min_growth_share) return LeakJudgement::kNotGrowing;
  if (trend.return_share > p.max_return_share) return LeakJudgement::kReturns;
  if (!(trend.slope_low > 0)) return LeakJudgement::kUncertain;
  for (const double part : {1.0 / 2, 1.0 / 3}) {
    if (recent_slope_ratio(test.seconds, values, part) < p.min_recent_slope_ratio) return LeakJudgement::kSlowing;
  }
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
  trend.growth_share = growth_share(series.live_bytes);
  trend.return_share = return_share(series);
  trend.noise_bytes = noise_of_gain(series);
  add_slope(trend, series.live_bytes, test);
  trend.judgement = judgement_of(trend, series.live_bytes, test);
  return trend;
}

// Whether a site's range could be a leak's gain at all. Does not look at the order of the readings.
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
  static constexpr std::array<std::string_view, 7> kNames = {"leak",      "too_few_readings", "not_growing", "returns",
                                                             "uncertain", "slowing",          "immaterial"};
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
  report.is_undecided = !tested.empty() && !test.falls;
  for (const SiteSeries* site : tested) {
    SiteTrend trend = judge(*site, test);
    if (trend.judgement == LeakJudgement::kLeak) report.suspects.push_back(trend);
  }
  std::ranges::stable_sort(report.suspects, std::ranges::greater(), &SiteTrend::gained_bytes);
  test.falls = max_falls(report.readings, parameters.false_alarm);
  report.whole = judge(series.whole, test);
  return report;
}

LeakReport find_leaks(const HeapTrend& trend, std::optional<std::uint64_t> limit_bytes,
                      const LeakParameters& parameters) {
  return find_leaks(series_of(trend, parameters.min_gained_bytes), limit_bytes, parameters);
}

}  // namespace oomw
