// SPDX-License-Identifier: Apache-2.0
// The result of the readings of a program over time, made once it was killed: of a Go program's heap, or of what fills
// another one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "events/capture_terms.h"
#include "events/collector_component.h"
#include "events/ids.h"

namespace oomw {

// How the live bytes of one call site, or of the whole heap, changed. The names of judgements are those
// of trends/leak_detector.h; "not_called" = grew, but is not reported as a leak.
struct TrendFigures {
  std::string judgement;
  std::uint64_t readings = 0;  // usable ones: a collection published its counts between them
  double growth_share = 0;     // share of consecutive pairs in which live bytes grew
  // nullopt: too few readings.
  std::optional<double> slope_bytes_per_second, slope_low_bytes_per_second, slope_high_bytes_per_second;
  std::optional<double> gained_bytes;
  std::uint64_t first_live_bytes = 0, last_live_bytes = 0;
  std::uint64_t first_held_bytes = 0, last_held_bytes = 0;
  friend bool operator==(const TrendFigures&, const TrendFigures&) = default;
};

struct TrendSite {
  // The allocating one first, printable. Not of Go: what it is, and the name that holds it ("list of dict", "held as
  // ...").
  std::vector<std::string> frames;
  std::string component;  // of a Collector: "exporter/otlp"; "" = none
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
  std::string file;        // beside the incident; "" = none
  std::string spool_file;  // where its bytes are until then
  friend bool operator==(const TrendPoint&, const TrendPoint&) = default;
};

// Its maker bounds it by kMaxSites, kMaxFrames and kMaxPoints. A decoder that calls itself stands between the
// allocation and the program's own code with a dozen frames and more.
struct TrendJudged {
  static constexpr std::size_t kMaxSites = 5, kMaxFrames = 32, kMaxPoints = 32;

  MonotonicTime time;
  ProcessKey process;
  double span_seconds = 0;       // of the usable readings
  std::uint64_t suspects = 0;    // sites reported as a leak, listed or not
  TrendFigures whole;            // the whole heap
  std::vector<TrendSite> sites;  // suspects first, then what grew most
  std::vector<TrendPoint> points;
  std::vector<CollectorComponent> components;  // of the baseline reading, if it has a file
  std::string spool_file;                      // of trend.json; "" = none
  RuntimeKind of = RuntimeKind::kGo;
  friend bool operator==(const TrendJudged&, const TrendJudged&) = default;
};

}  // namespace oomw
