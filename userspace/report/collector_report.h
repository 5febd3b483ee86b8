// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "incident/collector.h"

namespace oomw {

// For report.md: the components that allocated and that keep the memory, in two sentences and two tables. Escaped.
[[nodiscard]] std::string collector_section(const IncidentCollector& collector,
                                            std::optional<std::uint64_t> limit_bytes = std::nullopt);

}  // namespace oomw
