// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "incident/collector.h"

namespace oomw {

// For report.md: which component allocated the memory and which keeps it, in two sentences and two tables. Names
// are escaped.
[[nodiscard]] std::string collector_section(const IncidentCollector& collector);

}  // namespace oomw
