// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "runtimes/runtime.h"
#include "trends/leak_detector.h"

namespace oomw {

// The file that a reading was written to, by its position among the readings.
using TrendFiles = std::map<std::size_t, std::string>;

// The lines of a site's frames, the allocating one first, at most `max`.
[[nodiscard]] std::vector<std::string> frames_of_site(const HeapTrend& trend, std::uint32_t site, ProgramNames& names,
                                                      std::size_t max);

// Written beside an incident: trend.json with all readings and the detector's result (its `sites` are the suspects or,
// without any, the likely ones), and trend-NN.pb.gz of the baseline, the middle and the last reading: gzip pprof
// profiles of inuse_objects and inuse_space, since a trend does not keep what was freed in between. Each file appears
// whole; a second write replaces it. Any worker: takes milliseconds, and the executable's file system may hang.
[[nodiscard]] Result<TrendFiles> write_trend_evidence(const HeapTrend& trend, const LeakReport& report,
                                                      ProcessKey process, ProgramNames& names, const Clock& clock,
                                                      const std::string& directory);

}  // namespace oomw
