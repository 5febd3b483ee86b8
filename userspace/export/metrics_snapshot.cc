// SPDX-License-Identifier: Apache-2.0
#include "export/metrics_snapshot.h"

#include <algorithm>

namespace oomw {

void CaptureMetrics::Histogram::observe(double value) {
  counts.resize(bounds.size() + 1);
  const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), value);  // "le": bounds are inclusive
  ++counts[static_cast<std::size_t>(bucket - bounds.begin())];
  sum += value;
}

void CaptureMetrics::count(const CaptureFinished& capture) {
  ++totals[{std::string(to_string(capture.method)), std::string(to_string(capture.result)),
            std::string(to_string(capture.reason))}];
}

}  // namespace oomw
