// SPDX-License-Identifier: Apache-2.0
#include "incident/incident_trend.h"

namespace oomw {

IncidentTrend trend_of(const TrendJudged& judged, std::int64_t wall_offset_ns) {
  IncidentTrend trend;
  trend.pid = judged.process.pid;
  if (judged.of != RuntimeKind::kGo) trend.of = to_string(judged.of);
  trend.span_seconds = judged.span_seconds;
  trend.suspects = judged.suspects;
  trend.whole = judged.whole;
  trend.sites = judged.sites;
  trend.spool_file = judged.spool_file;
  for (const TrendPoint& point : judged.points) {
    trend.points.push_back({{point.time.ns + wall_offset_ns},
                            point.origin,
                            point.gc_cycle,
                            point.is_complete,
                            point.is_baseline,
                            point.live_bytes,
                            point.held_bytes,
                            point.file,
                            point.spool_file});
  }
  return trend;
}

}  // namespace oomw
