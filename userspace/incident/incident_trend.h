// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "events/trend_judged.h"

namespace oomw {

// Beside an incident: all readings and what the leak detector made of them.
inline constexpr const char* kTrendFile = "trend.json";

// A TrendJudged as stored in an incident: with wall-clock times.
struct IncidentTrend {
  struct Point {
    WallTime time;
    std::string origin;
    std::optional<std::uint32_t> gc_cycle;
    bool is_complete = false;
    bool is_baseline = false;
    std::uint64_t live_bytes = 0, held_bytes = 0;
    std::string file;        // in the incident's directory; "" = none
    std::string spool_file;  // where its bytes are until then; not part of the JSON
  };
  std::int32_t pid = 0;
  std::string of;  // the runtime; "" = go
  double span_seconds = 0;
  std::uint64_t suspects = 0;
  TrendFigures whole;
  std::vector<TrendSite> sites;
  std::vector<Point> points;  // oldest first
  std::string spool_file;     // of kTrendFile, as with the points; "" = none
};

[[nodiscard]] IncidentTrend trend_of(const TrendJudged& judged, std::int64_t wall_offset_ns);

}  // namespace oomw
