// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "export/metrics_snapshot.h"

namespace oomw {

// The text exposition (0.0.4) of a snapshot, by prometheus-cpp's TextSerializer. Every family of
// design.md is present from the first scrape on, known label sets at 0. Label values are valid
// UTF-8 and at most 128 bytes; anything else is replaced, never dropped.
[[nodiscard]] std::string to_prometheus_text(const MetricsSnapshot& snapshot, const LiveFigures& live = {});

}  // namespace oomw
