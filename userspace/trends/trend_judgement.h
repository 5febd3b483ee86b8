// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "events/trend_judged.h"
#include "trends/trend_evidence.h"

namespace oomw {

// The readings and the detector's result, for the incident: suspects first, then the sites that grew most, so that a
// heap which was not read often enough still names what filled it. `evidence` as keep_trend_evidence() returns it;
// empty: none is kept yet. Any worker: takes milliseconds.
[[nodiscard]] TrendJudged judged_trend(const HeapTrend& trend, const LeakReport& report, ProcessKey process,
                                       ProgramNames& names, const TrendEvidence& evidence, MonotonicTime now);

// Sites that hold more at the last reading than at the baseline, those with the largest gain in held bytes first; known
// by these two readings alone.
[[nodiscard]] std::vector<SiteTrend> grown_sites(const HeapTrend& trend);

}  // namespace oomw
