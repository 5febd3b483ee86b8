// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "events/event.h"

namespace oomw {

// Extracts the figures of a Collector's queues and limiter from its metrics; nullopt when they are not a Collector's
// (nothing begins with "otelcol_"). The caller fills in time, process and cgroup. Pure, fuzzed.
//   - Names are matched by their beginning: depending on the version and the reader's settings they end in "_spans",
//     "_spans_total", "_batches" or nothing.
//   - An exporter's queues of several signals are summed: one component keeps them.
//   - At most kMaxCollectorIds exporters and receivers; names are printable, up to kMaxCollectorIdBytes.
inline constexpr std::size_t kMaxCollectorIds = 64;
inline constexpr std::size_t kMaxCollectorIdBytes = 128;
[[nodiscard]] std::optional<CollectorSampled> collector_figures_of(std::string_view metrics);

// The CPU time that a Collector reports of its own process; nullopt: none, or several, as where one Collector exports
// the metrics of others. Pure, fuzzed.
[[nodiscard]] std::optional<double> collector_cpu_seconds(std::string_view metrics);

}  // namespace oomw
