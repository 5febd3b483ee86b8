// SPDX-License-Identifier: Apache-2.0
#include "trends/trend_series.h"

#include <algorithm>
#include <cmath>

namespace oomw {
namespace {

using Readings = std::vector<const TrendReading*>;

Readings readings_that_count(const HeapTrend& trend, std::size_t first) {
  Readings chosen;
  for (std::size_t i = first; i < trend.readings().size(); ++i) {
    const TrendReading& reading = trend.readings()[i];
    const bool is_news = chosen.empty() || shows_new_counts(reading, *chosen.back());
    if (reading.is_complete && is_news) chosen.push_back(&reading);
  }
  return chosen;
}

// One reading's sums by site.
class SiteSums {
 public:
  explicit SiteSums(const SiteTable& table)
      : table_(table), live_(table.sites()), variance_(table.sites()), is_listed_(table.sites()) {}

  void take(const TrendReading& reading) {
    std::ranges::fill(live_, static_cast<double>(reading.unlisted_bytes));
    std::ranges::fill(variance_, 0);
    is_listed_.assign(is_listed_.size(), false);
    for (const TrendReading::Bucket& bucket : reading.buckets) {
      const std::uint64_t size = table_.block_bytes_of(bucket.number);
      const double each = bytes_per_sample(size, reading.rate);
      const std::uint32_t site = table_.site_of(bucket.number);
      if (!is_listed_[site]) live_[site] = 0;
      is_listed_[site] = true;
      live_[site] += each * bucket.live_objects;
      // Each block was sampled with probability size/each; the estimate n * each from n sampled blocks has a variance
      // of n (1 - p) each^2.
      const double missed = each > 0 ? 1 - static_cast<double>(size) / each : 0;
      variance_[site] += bucket.live_objects * missed * each * each;
    }
  }
  [[nodiscard]] double live(std::uint32_t site) const { return live_[site]; }
  [[nodiscard]] double variance(std::uint32_t site) const { return variance_[site]; }
  [[nodiscard]] bool is_listed(std::uint32_t site) const { return is_listed_[site]; }

 private:
  const SiteTable& table_;
  std::vector<double> live_, variance_;
  std::vector<bool> is_listed_;
};

// Sites whose live bytes vary by `least` or more. Where readings list only the largest, a site counts if the later half
// of them lists it throughout: before that it held at most what the smallest one listed did, which understates its
// growth; figures that are all such bounds would rise with the others' growth.
std::vector<std::uint32_t> sites_that_changed(const SiteTable& table, const Readings& readings, double least) {
  std::vector<double> lowest(table.sites(), HUGE_VAL), highest(table.sites());
  std::vector<bool> is_known(table.sites(), true);
  SiteSums sums(table);
  for (std::size_t i = 0; i < readings.size(); ++i) {
    sums.take(*readings[i]);
    const bool lists_all = readings[i]->unlisted_bytes == 0 || i < readings.size() / 2;
    for (std::uint32_t site = 0; site < table.sites(); ++site) {
      lowest[site] = std::min(lowest[site], sums.live(site));
      highest[site] = std::max(highest[site], sums.live(site));
      if (!lists_all && !sums.is_listed(site)) is_known[site] = false;
    }
  }
  std::vector<std::uint32_t> changed;
  for (std::uint32_t site = 0; site < table.sites(); ++site) {
    if (is_known[site] && highest[site] - lowest[site] >= least) changed.push_back(site);
  }
  return changed;
}

std::vector<double> held_of(const SiteTable& table, const TrendReading& reading) {
  std::vector<double> held(table.sites(), static_cast<double>(reading.unlisted_bytes));
  std::vector<bool> is_listed(table.sites());
  for (const TrendReading::Bucket& bucket : reading.buckets) {
    const std::uint32_t site = table.site_of(bucket.number);
    if (!is_listed[site]) held[site] = 0;
    is_listed[site] = true;
    held[site] += bytes_per_sample(table.block_bytes_of(bucket.number), reading.rate) * bucket.held_objects;
  }
  return held;
}

void fill_held(const HeapTrend& trend, std::size_t baseline_at, TrendSeries& series) {
  const SiteTable& table = trend.sites();
  const TrendReading& baseline = trend.readings()[baseline_at];
  const TrendReading& newest = trend.readings().back();
  const std::vector<double> first = held_of(table, baseline), last = held_of(table, newest);
  for (SiteSeries& site : series.sites) {
    site.held_first_bytes = first[site.site];
    site.held_last_bytes = last[site.site];
  }
  series.whole.held_first_bytes = static_cast<double>(baseline.held_bytes);
  series.whole.held_last_bytes = static_cast<double>(newest.held_bytes);
}

void add_column(const TrendReading& reading, const SiteTable& table, const SiteSums& sums, TrendSeries& series) {
  double variance = 0;
  for (std::uint32_t site = 0; site < table.sites(); ++site) variance += sums.variance(site);
  series.whole.live_bytes.push_back(static_cast<double>(reading.live_bytes));
  series.whole.variance.push_back(variance);
  for (SiteSeries& site : series.sites) {
    site.live_bytes.push_back(sums.live(site.site));
    site.variance.push_back(sums.variance(site.site));
  }
}

}  // namespace

double SiteSeries::least() const { return live_bytes.empty() ? 0 : *std::ranges::min_element(live_bytes); }
double SiteSeries::most() const { return live_bytes.empty() ? 0 : *std::ranges::max_element(live_bytes); }

TrendSeries series_of(const HeapTrend& trend, double least_range_bytes) {
  return series_of(trend, least_range_bytes, trend.baseline());
}

TrendSeries series_of(const HeapTrend& trend, double least_range_bytes, std::size_t from) {
  TrendSeries series;
  const SiteTable& table = trend.sites();
  series.sites_seen = table.sites();
  const Readings readings = readings_that_count(trend, from);
  if (readings.empty()) return series;
  for (const std::uint32_t site : sites_that_changed(table, readings, least_range_bytes)) {
    series.sites.emplace_back().site = site;
  }
  SiteSums sums(table);
  for (const TrendReading* reading : readings) {
    sums.take(*reading);
    series.seconds.push_back(to_seconds(reading->time - readings.front()->time));
    add_column(*reading, table, sums, series);
  }
  fill_held(trend, from, series);
  return series;
}

}  // namespace oomw
