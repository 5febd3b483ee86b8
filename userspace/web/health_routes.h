// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>

#include "base/clock.h"
#include "base/stall_meter.h"
#include "export/metrics_snapshot.h"
#include "web/http.h"

namespace oomw {

using SnapshotSource = std::function<std::shared_ptr<const MetricsSnapshot>()>;  // any thread; null before the first

// The core thread as others see it.
struct CoreWatch {
  const StallMeter* stalls = nullptr;               // outlives the routes; null: not measured
  Nanoseconds max_stall = std::chrono::seconds(5);  // a longer turn is not healthy
};

// GET /healthz: 200 while the core thread does its work, else 503 with the reason: a turn of its loop takes longer than
// max_stall, or for 10 s nothing was published though it should be every 5 s.
[[nodiscard]] Route health_route(SnapshotSource snapshot, const Clock& clock, CoreWatch core);
// GET /readyz: 200 once events flow; before that 503.
[[nodiscard]] Route readiness_route(SnapshotSource snapshot);

}  // namespace oomw
