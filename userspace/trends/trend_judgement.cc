// SPDX-License-Identifier: Apache-2.0
#include "trends/trend_judgement.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "facts/collector_components.h"
#include "incident/incident_trend.h"

namespace oomw {
namespace {

std::optional<double> known(double value) { return std::isfinite(value) ? std::optional(value) : std::nullopt; }
std::uint64_t whole_bytes(double bytes) {
  return std::isfinite(bytes) && bytes > 0 ? static_cast<std::uint64_t>(std::min(bytes, 1e18)) : 0;
}

TrendFigures figures_of(const SiteTrend& site) {
  return {std::string(to_string(site.judgement)),
          site.readings,
          site.growth_share,
          known(site.slope),
          known(site.slope_low),
          known(site.slope_high),
          known(site.gained_bytes),
          whole_bytes(site.first_bytes),
          whole_bytes(site.last_bytes),
          whole_bytes(site.held_first_bytes),
          whole_bytes(site.held_last_bytes)};
}

std::string kept_as(const TrendEvidence& evidence, const std::string& file) {
  const auto kept = evidence.kept.find(file);
  return kept == evidence.kept.end() ? "" : kept->second;
}

// Only the last ones if there are too many: earlier readings are thinned anyway.
std::vector<TrendPoint> points_of(const HeapTrend& trend, const TrendEvidence& evidence) {
  std::vector<TrendPoint> points;
  const std::vector<TrendReading>& readings = trend.readings();
  const std::size_t first = readings.size() - std::min(readings.size(), TrendJudged::kMaxPoints);
  for (std::size_t i = first; i < readings.size(); ++i) {
    const TrendReading& reading = readings[i];
    points.push_back({reading.time, std::string(to_string(reading.origin)), reading.gc_cycle, reading.is_complete,
                      i == trend.baseline(), reading.live_bytes, reading.held_bytes, "", ""});
    const auto file = evidence.files.find(i);
    if (file == evidence.files.end()) continue;
    points.back().file = file->second;
    points.back().spool_file = kept_as(evidence, file->second);
  }
  return points;
}

// Live and held bytes of each site in one reading.
std::map<std::uint32_t, std::pair<double, double>> bytes_by_site(const HeapTrend& trend, const TrendReading& reading) {
  std::map<std::uint32_t, std::pair<double, double>> bytes;
  for (const TrendReading::Bucket& bucket : reading.buckets) {
    const double scale = bytes_per_sample(trend.sites().block_bytes_of(bucket.number), reading.rate);
    auto& [live, held] = bytes[trend.sites().site_of(bucket.number)];
    live += bucket.live_objects * scale;
    held += bucket.held_objects * scale;
  }
  return bytes;
}

// The suspects, then those that grew most.
std::vector<SiteTrend> judged_sites(const HeapTrend& trend, const LeakReport& report) {
  std::vector<SiteTrend> sites = report.suspects;
  for (const SiteTrend& site : grown_sites(trend)) {
    const auto is_same = [&](const SiteTrend& suspect) { return suspect.site == site.site; };
    if (std::ranges::none_of(report.suspects, is_same)) sites.push_back(site);
  }
  if (sites.size() > TrendJudged::kMaxSites) sites.resize(TrendJudged::kMaxSites);
  return sites;
}

std::string component_of(const std::vector<std::string>& frames) {
  for (const std::string& frame : frames) {
    const auto component = component_of_function(frame.substr(0, frame.find(' ')));
    if (component) return component->kind + "/" + component->id;
  }
  return "";
}

TrendSite judged_site(const HeapTrend& trend, const SiteTrend& site, ProgramNames& names) {
  TrendSite judged;
  judged.frames = frames_of_site(trend, site.site, names, TrendJudged::kMaxFrames);
  judged.component = component_of(judged.frames);
  judged.figures = figures_of(site);
  if (site.judgement != LeakJudgement::kLeak) {
    judged.figures.judgement = "not_called";  // known by its first and last reading alone
    judged.figures.slope_bytes_per_second = judged.figures.slope_low_bytes_per_second =
        judged.figures.slope_high_bytes_per_second = judged.figures.gained_bytes = std::nullopt;
  }
  return judged;
}

}  // namespace

std::vector<SiteTrend> grown_sites(const HeapTrend& trend) {
  std::vector<SiteTrend> grown;
  if (trend.readings().empty()) return grown;
  const TrendReading& baseline = trend.readings()[trend.baseline()];
  const auto before = bytes_by_site(trend, baseline);
  for (const auto& [number, after] : bytes_by_site(trend, trend.readings().back())) {
    const auto known = before.find(number);
    const auto unlisted = static_cast<double>(baseline.unlisted_bytes);
    const auto [live, held] = known == before.end() ? std::pair(unlisted, unlisted) : known->second;
    if (after.second <= held) continue;
    SiteTrend& site = grown.emplace_back();
    site.site = number;
    site.first_bytes = live, site.last_bytes = after.first;
    site.held_first_bytes = held, site.held_last_bytes = after.second;
  }
  const std::size_t kept = std::min(grown.size(), 2 * TrendJudged::kMaxSites);
  const auto gain = [](const SiteTrend& site) { return site.held_last_bytes - site.held_first_bytes; };
  std::ranges::partial_sort(grown, grown.begin() + static_cast<std::ptrdiff_t>(kept), std::ranges::greater(), gain);
  grown.resize(kept);
  return grown;
}

TrendJudged judged_trend(const HeapTrend& trend, const LeakReport& report, ProcessKey process, ProgramNames& names,
                         const TrendEvidence& evidence, MonotonicTime now) {
  TrendJudged judged;
  judged.time = now;
  judged.process = process;
  judged.span_seconds = report.span_seconds;
  judged.suspects = report.suspects.size();
  judged.whole = figures_of(report.whole);
  judged.points = points_of(trend, evidence);
  judged.components = evidence.components;
  judged.spool_file = kept_as(evidence, kTrendFile);
  const std::vector<SiteTrend> sites = judged_sites(trend, report);
  std::vector<std::vector<std::uint64_t>> stacks;
  for (const SiteTrend& site : sites) stacks.push_back(trend.sites().pcs_of(site.site));
  names.prepare(stacks);
  for (const SiteTrend& site : sites) judged.sites.push_back(judged_site(trend, site, names));
  return judged;
}

}  // namespace oomw
