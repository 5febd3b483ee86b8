// SPDX-License-Identifier: Apache-2.0
// What readings of a Go program's heap over time come to, once it was killed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "events/ids.h"

namespace oomw {

// How the live bytes of one call site, or of the whole heap, changed. The names of judgements are those
// of trends/leak_detector.h; "not_called" = grew, and no leak is claimed of it.
struct TrendFigures {
  std::string judgement;
  std::uint64_t readings = 0;  // that count: a collection published between them
  double growth_share = 0;     // of consecutive ones, those in which live bytes grew
  // none: that few readings do not tell.
  std::optional<double> slope_bytes_per_second, slope_low_bytes_per_second, slope_high_bytes_per_second;
  std::optional<double> gained_bytes;
  std::uint64_t first_live_bytes = 0, last_live_bytes = 0;
  std::uint64_t first_held_bytes = 0, last_held_bytes = 0;
  friend bool operator==(const TrendFigures&, const TrendFigures&) = default;
};

struct TrendSite {
  std::vector<std::string> frames;  // the allocating one first, printable
  std::string component;            // of a Collector: "exporter/otlp"; "" = none
  TrendFigures figures;
  friend bool operator==(const TrendSite&, const TrendSite&) = default;
};

struct TrendPoint {
  MonotonicTime time;
  std::string origin;  // scheduled | watermark | at_kill | request
  std::optional<std::uint32_t> gc_cycle;
  bool is_complete = false;
  bool is_baseline = false;
  std::uint64_t live_bytes = 0, held_bytes = 0;
  std::string file;  // beside the incident; "" = none
  friend bool operator==(const TrendPoint&, const TrendPoint&) = default;
};

// Bounded by who makes it: kMaxSites, kMaxFrames and kMaxPoints.
struct TrendJudged {
  static constexpr std::size_t kMaxSites = 5, kMaxFrames = 6, kMaxPoints = 32;

  MonotonicTime time;
  ProcessKey process;
  double span_seconds = 0;       // of the readings that count
  std::uint64_t suspects = 0;    // sites called a leak, listed or not
  TrendFigures whole;            // the whole heap
  std::vector<TrendSite> sites;  // suspects first, then what grew most
  std::vector<TrendPoint> points;
  friend bool operator==(const TrendJudged&, const TrendJudged&) = default;
};

}  // namespace oomw
