// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "events/event.h"

namespace oomw {

// What a Collector's metrics say of its queues and its limiter; nullopt when they are no Collector's
// (nothing begins with "otelcol_"). Time, process and cgroup are the caller's to fill in. Pure, fuzzed.
//   - names are matched by their beginning: with the version and the reader's settings they end in
//     "_spans", "_spans_total", "_batches" or nothing;
//   - an exporter's queues of several signals are summed: they are kept by one component;
//   - at most kMaxCollectorIds exporters and receivers; names are printable and of kMaxCollectorIdBytes.
inline constexpr std::size_t kMaxCollectorIds = 64;
inline constexpr std::size_t kMaxCollectorIdBytes = 128;
[[nodiscard]] std::optional<CollectorSampled> collector_figures_of(std::string_view metrics);

}  // namespace oomw
