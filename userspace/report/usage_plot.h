// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "incident/incident.h"

namespace oomw {

// Usage up to the kill as a plot of block characters, 60 columns by 8 rows, the limit at the top; each line
// ends in a newline. A column shows the highest reading of its time, or the one before where there was none.
// "" without a limit, or with fewer than three readings before the kill.
[[nodiscard]] std::string usage_plot(const Incident& incident);

}  // namespace oomw
