// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "runtimes/go/go_process.h"
#include "runtimes/go/symbolizer.h"
#include "trends/leak_detector.h"

namespace oomw {

// The names of a program's functions, as long as it is held open; null where they cannot be had.
class TrendNames {
 public:
  explicit TrendNames(const GoProcess& process);
  [[nodiscard]] go::Symbolizer* get() const { return symbolizer_.get(); }

 private:
  std::unique_ptr<FdSource> file_;
  std::unique_ptr<go::Symbolizer> symbolizer_;
};

// The file that a reading was written to, by its position among the readings.
using TrendFiles = std::map<std::size_t, std::string>;

// "function file:line" of a site's frames, the allocating one first, at most `max`; addresses where
// symbolizer is null or does not know. Printable.
[[nodiscard]] std::vector<std::string> frames_of_site(const HeapTrend& trend, std::uint32_t site,
                                                      go::Symbolizer* symbolizer, std::size_t max);

// A reading as a gzip pprof profile of inuse_objects and inuse_space: what was allocated and freed
// again in between is not kept by a trend. Values held then, scaled against sampling.
[[nodiscard]] std::string profile_of_reading(const HeapTrend& trend, const TrendReading& reading,
                                             const GoProcess& process, go::Symbolizer* symbolizer, WallTime time);

// Beside an incident: trend.json with all readings and what the detector makes of them (its `sites` are the
// suspects or, without any, the likely ones), and trend-NN.pb.gz of the baseline, the middle and the last one. Each
// file appears whole; written again it is replaced. Any worker: takes milliseconds, and the executable's file system
// may hang.
[[nodiscard]] Result<TrendFiles> write_trend_evidence(const HeapTrend& trend, const LeakReport& report,
                                                      const GoProcess& process, const Clock& clock,
                                                      const std::string& directory);

}  // namespace oomw
