// SPDX-License-Identifier: Apache-2.0
#include "trends/trend_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "facts/collector_components.h"
#include "incident/incident_trend.h"
#include "pprof/codec.h"
#include "trends/trend_document.h"

namespace oomw {
namespace {

constexpr std::size_t kMaxSites = 20;
// A profile is made in memory, from all frames of its buckets: 16,384 buckets of a hostile program took 40 MiB.
constexpr std::size_t kMaxBucketsWritten = 8'192, kMaxFramesWritten = 256U << 10;
// Of a profile's four sample types: alloc_objects, alloc_space, inuse_objects, inuse_space.
constexpr std::ptrdiff_t kAllocTypes = 2;

// Block sizes are read from the process; a product that wraps would show a large site as a small one.
HeapAmount amount_of(std::uint32_t objects, std::uint64_t block_bytes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(objects, block_bytes, &bytes)) bytes = kMost;
  return {objects, std::min(bytes, kMost)};
}

// By bucket number: those that held the most in any of these readings. The same ones in each file, so that what is
// missing in one of two files has not grown.
std::vector<bool> largest_buckets(const HeapTrend& trend, const std::vector<std::size_t>& readings) {
  const SiteTable& sites = trend.sites();
  std::vector<std::pair<std::int64_t, std::uint32_t>> most(sites.buckets());  // bytes, number
  for (std::uint32_t number = 0; number < most.size(); ++number) most[number].second = number;
  for (const std::size_t position : readings) {
    for (const TrendReading::Bucket& bucket : trend.readings()[position].buckets) {
      const HeapAmount held = amount_of(bucket.held_objects, sites.block_bytes_of(bucket.number));
      most[bucket.number].first = std::max(most[bucket.number].first, held.bytes);
    }
  }
  std::ranges::sort(most, std::ranges::greater{});
  std::vector<bool> is_written(most.size());
  std::size_t frames = 0;
  for (std::size_t i = 0; i < most.size() && i < kMaxBucketsWritten; ++i) {
    frames += sites.pcs_of(sites.site_of(most[i].second)).size();
    if (frames > kMaxFramesWritten) break;
    is_written[most[i].second] = true;
  }
  return is_written;
}

// As if it had been read from a process loaded at the addresses in its file.
HeapReading heap_of(const HeapTrend& trend, const TrendReading& reading, const std::vector<bool>& is_written) {
  HeapReading heap;
  heap.rate = reading.rate;
  std::size_t left_out = 0;
  for (const TrendReading::Bucket& bucket : reading.buckets) {
    if (!is_written[bucket.number]) {
      ++left_out;
      continue;
    }
    const std::vector<std::uint64_t> pcs = trend.sites().pcs_of(trend.sites().site_of(bucket.number));
    HeapHolding& holding = heap.holdings.emplace_back();
    holding.first_pc = heap.pcs.append(pcs);
    holding.pc_count = static_cast<std::uint32_t>(pcs.size());
    holding.block_bytes = trend.sites().block_bytes_of(bucket.number);
    holding.allocated = holding.held = amount_of(bucket.held_objects, holding.block_bytes);
    holding.live = amount_of(bucket.live_objects, holding.block_bytes);
  }
  const HeapTotals totals = totals_of(heap);
  heap.facts = {
      fmt::format("oomwitness: series=held_now held_bytes={} live_at_last_gc_bytes={} gc_cycle={}", totals.held_bytes,
                  totals.live_bytes, reading.gc_cycle ? std::to_string(*reading.gc_cycle) : "unknown"),
      fmt::format("oomwitness: rate={} buckets={} complete={}", reading.rate, heap.holdings.size(),
                  reading.is_complete && left_out == 0 ? "yes" : "no")};
  if (left_out > 0) heap.facts.push_back(fmt::format("oomwitness: the {} smallest buckets are left out", left_out));
  return heap;
}

void keep_only_inuse(pprof::Profile& profile) {
  if (profile.samples.empty()) return;
  profile.sample_types.erase(profile.sample_types.begin(), profile.sample_types.begin() + kAllocTypes);
  for (pprof::Sample& sample : profile.samples) {
    sample.values.erase(sample.values.begin(), sample.values.begin() + kAllocTypes);
  }
}

TrendDocument::Site site_of(const SiteTrend& site) {
  return {.judgement = std::string(to_string(site.judgement)),
          .readings = site.readings,
          .growth_share = site.growth_share,
          .pair_share = site.pair_share,
          .chance = site.chance,
          .slope = site.slope,
          .slope_low = site.slope_low,
          .slope_high = site.slope_high,
          .gained_bytes = site.gained_bytes,
          .noise_bytes = site.noise_bytes,
          .return_share = site.return_share,
          .first_bytes = site.first_bytes,
          .last_bytes = site.last_bytes,
          .held_first_bytes = site.held_first_bytes,
          .held_last_bytes = site.held_last_bytes,
          .frames = std::nullopt};
}

// Baseline, the reading nearest to the middle of the time from it to the last, and the last.
std::vector<std::size_t> chosen_readings(const HeapTrend& trend) {
  const std::vector<TrendReading>& readings = trend.readings();
  const std::size_t first = trend.baseline(), last = readings.size() - 1;
  const MonotonicTime middle = readings[first].time + (readings[last].time - readings[first].time) / 2;
  std::size_t nearest = first;
  for (std::size_t i = first; i <= last; ++i) {
    const auto distance = [&](std::size_t at) { return std::chrono::abs(readings[at].time - middle); };
    if (distance(i) < distance(nearest)) nearest = i;
  }
  std::vector<std::size_t> chosen = {first, nearest, last};
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

std::vector<TrendDocument::Reading> readings_of(const HeapTrend& trend, const TrendFiles& files, const Clock& clock) {
  std::vector<TrendDocument::Reading> list;
  for (std::size_t i = 0; i < trend.readings().size(); ++i) {
    const TrendReading& reading = trend.readings()[i];
    const auto file = files.find(i);
    list.push_back({.time = clock.wall_of(reading.time),
                    .origin = std::string(to_string(reading.origin)),
                    .is_baseline = i == trend.baseline(),
                    .gc_cycle = reading.gc_cycle,
                    .live_bytes = reading.live_bytes,
                    .held_bytes = reading.held_bytes,
                    .buckets = reading.buckets.size(),
                    .is_complete = reading.is_complete,
                    .file = file != files.end() ? file->second : std::string()});
  }
  return list;
}

TrendDocument::Judged judged_of(const LeakReport& report, const HeapTrend& trend, ProgramNames& names) {
  TrendDocument::Judged judged = {.readings = report.readings,
                                  .span_seconds = report.span_seconds,
                                  .sites_seen = report.sites_seen,
                                  .sites_tested = report.sites_tested,
                                  .confidence = report.confidence,
                                  .whole = site_of(report.whole),
                                  .suspects = report.suspects.size(),
                                  .likely = report.likely.size(),
                                  .is_undecided = report.is_undecided,
                                  .sites = {}};
  for (const std::vector<SiteTrend>* found : {&report.suspects, &report.likely}) {
    for (const SiteTrend& site : *found) {
      if (judged.sites.size() >= kMaxSites) break;
      judged.sites.push_back(site_of(site));
      judged.sites.back().frames = frames_of_site(trend, site.site, names, TrendJudged::kMaxFrames);
    }
  }
  return judged;
}

// Values held at that time, scaled against sampling.
pprof::Profile profile_of(const HeapTrend& trend, const TrendReading& reading, const std::vector<bool>& is_written,
                          ProcessKey process, ProgramNames& names, WallTime time) {
  const std::string comment =
      fmt::format("oomwitness: method=trend origin={} pid={} types=inuse only", to_string(reading.origin), process.pid);
  pprof::Profile profile = names.profile_of(heap_of(trend, reading, is_written), time, {comment});
  keep_only_inuse(profile);
  return profile;
}

}  // namespace

std::vector<std::string> frames_of_site(const HeapTrend& trend, std::uint32_t site, ProgramNames& names,
                                        std::size_t max) {
  std::vector<std::string> lines = names.lines_of(trend.sites().pcs_of(site));
  if (lines.size() > max) lines.resize(max);
  return lines;
}

Result<TrendEvidence> keep_trend_evidence(const HeapTrend& trend, const LeakReport& report, ProcessKey process,
                                          ProgramNames& names, const Clock& clock, const KeepTrendFile& keep,
                                          RuntimeKind of) {
  TrendEvidence evidence;
  if (trend.readings().empty()) return evidence;
  const std::vector<std::size_t> readings = chosen_readings(trend);
  const std::vector<bool> is_written = largest_buckets(trend, readings);
  for (const std::size_t chosen : readings) {
    const TrendReading& reading = trend.readings()[chosen];
    const std::string name = fmt::format("trend-{:02}.pb.gz", evidence.files.size() + 1);
    const pprof::Profile profile = profile_of(trend, reading, is_written, process, names, clock.wall_of(reading.time));
    if (profile.samples.empty()) continue;
    if (chosen == trend.baseline()) evidence.components = collector_components_of(profile);
    ASSIGN_OR_RETURN(evidence.kept[name], keep(process, name, pprof::write(profile)));
    evidence.files.emplace(chosen, name);
  }
  std::string text = to_json(TrendDocument{.process = process,
                                           .of = of == RuntimeKind::kGo ? "" : std::string(to_string(of)),
                                           .readings = readings_of(trend, evidence.files, clock),
                                           .judged = judged_of(report, trend, names)});
  ASSIGN_OR_RETURN(evidence.kept[kTrendFile], keep(process, kTrendFile, std::move(text)));
  return evidence;
}

}  // namespace oomw
