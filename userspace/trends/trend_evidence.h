// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "events/collector_component.h"
#include "runtimes/runtime.h"
#include "trends/leak_detector.h"

namespace oomw {

// The file beside an incident that a reading is written to, by its position among the readings.
using TrendFiles = std::map<std::size_t, std::string>;

// Keeps the bytes of a file until an incident takes them, and returns the name that it finds them by. Any worker.
using KeepTrendFile =
    std::function<Result<std::string>(ProcessKey process, const std::string& name, std::string bytes)>;

struct TrendEvidence {
  TrendFiles files;
  std::map<std::string, std::string> kept;     // by the file's name: what KeepTrendFile returned
  std::vector<CollectorComponent> components;  // of the baseline; empty: not of a Collector
};

// The lines of a site's frames, the allocating one first, at most `max`.
[[nodiscard]] std::vector<std::string> frames_of_site(const HeapTrend& trend, std::uint32_t site, ProgramNames& names,
                                                      std::size_t max);

// Made for an incident: trend.json with all readings and the detector's result (its `sites` are the suspects or,
// without any, the likely ones), and trend-NN.pb.gz of the baseline, the middle and the last reading: gzip pprof
// profiles of inuse_objects and inuse_space, since a trend does not keep what was freed in between; none of a program
// without profiles. The first file that cannot be kept is the error. Any worker: takes milliseconds, and the
// executable's file system may hang.
[[nodiscard]] Result<TrendEvidence> keep_trend_evidence(const HeapTrend& trend, const LeakReport& report,
                                                        ProcessKey process, ProgramNames& names, const Clock& clock,
                                                        const KeepTrendFile& keep, RuntimeKind of = RuntimeKind::kGo);

}  // namespace oomw
