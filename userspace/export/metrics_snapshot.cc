// SPDX-License-Identifier: Apache-2.0
#include "export/metrics_snapshot.h"

#include <algorithm>

#include "incident/capture_reasons.h"

namespace oomw {

void CaptureMetrics::Histogram::observe(double value) {
  counts.resize(bounds.size() + 1);
  const auto bucket = std::lower_bound(bounds.begin(), bounds.end(), value);  // "le": bounds are inclusive
  ++counts[static_cast<std::size_t>(bucket - bounds.begin())];
  sum += value;
}

void CaptureMetrics::count(const CaptureFinished& capture) {
  const bool is_listed = capture.reason.empty() || !explain_capture_reason(capture.reason).empty();
  ++totals[{std::string(to_string(capture.method)), std::string(to_string(capture.result)),
            is_listed ? capture.reason : "other"}];
}

}  // namespace oomw
