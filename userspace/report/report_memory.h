// SPDX-License-Identifier: Apache-2.0
// What analyses of the victim's memory found, for report.md. Text of a workload is escaped.
#pragma once

#include <string>

#include "incident/incident.h"

namespace oomw {

// "## Who keeps the memory", "## What fills the memory", "## Parts of the memory" and "## Goroutines": those that the
// incident knows something for, goroutines only where goroutines_matter(); "" without.
[[nodiscard]] std::string memory_sections(const Incident& incident);

}  // namespace oomw
