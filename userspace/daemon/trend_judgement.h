// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "daemon/trend_evidence.h"
#include "events/trend_judged.h"

namespace oomw {

// The readings and what the detector makes of them, for the incident: suspects first, then the sites that grew
// most, so that a heap which was not read often enough names what filled it all the same. `files` as
// write_trend_evidence() gives them. Any worker: takes milliseconds.
[[nodiscard]] TrendJudged judged_trend(const HeapTrend& trend, const LeakReport& report, const GoProcess& process,
                                       const TrendFiles& files, MonotonicTime now);

}  // namespace oomw
