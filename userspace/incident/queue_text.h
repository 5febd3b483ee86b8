// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "incident/collector.h"

namespace oomw {

// An amount of an exporter's queue (size, capacity, growth) for a person: "139", or "48.0 MiB" where the queue must be
// measured in bytes. Its metrics do not name the unit, but so many requests or items would not fit into the limit.
[[nodiscard]] std::string queue_amount(const CollectorExporter& exporter, std::int64_t amount,
                                       std::optional<std::uint64_t> limit_bytes);
// "139 of 1000, 100 more than at first"
[[nodiscard]] std::string queue_text(const CollectorExporter& exporter, std::optional<std::uint64_t> limit_bytes);

}  // namespace oomw
