// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "daemon/capture_once.h"
#include "trends/leak_detector.h"

namespace oomw {

struct TrendRequest {
  std::size_t readings = 30;
  bool wants_profiles = false;
  // Waits until the next reading is due; false: enough, judge what is there.
  std::function<bool()> wait;
  // Called with each reading as it is taken; `profile` is gzip pprof, "" unless wanted.
  std::function<void(const TrendReading& reading, const std::string& profile)> on_reading;
};

struct NamedSite {
  SiteTrend trend;
  std::vector<std::string> frames;  // "function file:line", the allocating one first; hostile text made printable
};

struct TrendFindings {
  ProcessKey process;
  RuntimeKind of = RuntimeKind::kGo;
  bool is_judged = true;  // no: estimates, or dead objects among them; only what grew is shown
  LeakReport report;
  std::vector<NamedSite> suspects, likely;  // the first few of the report's
  std::vector<NamedSite> grown;             // what grew most from the first reading to the last; Go: none
  std::string ended;                        // why no more readings could be taken; "" = all that were wanted
};

// A trend without a daemon, of the first selected process that can be read: its heap profile if it is a Go program that
// has one, else what fills it. Ends early if the process ends. An Error if not even one reading was taken, or if
// profiles are wanted of a program that has none.
[[nodiscard]] Result<TrendFindings> watch_trend(const Config& config, const CaptureSelector& selector,
                                                const TrendRequest& request);

}  // namespace oomw
