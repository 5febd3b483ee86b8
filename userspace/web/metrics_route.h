// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "web/health_routes.h"

namespace oomw {

using LiveFiguresSource = std::function<LiveFigures()>;

// GET /metrics (text/plain; version=0.0.4), with gzip where the client takes it; 503 before the first snapshot.
// While a text is being sent, all who ask within a second of its making get the same one: slow readers of it hold one
// copy together. Between scrapes it is not held.
[[nodiscard]] Route metrics_route(SnapshotSource snapshot, const Clock& clock, LiveFiguresSource live);

}  // namespace oomw
