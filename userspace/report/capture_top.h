// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "incident/incident.h"

namespace oomw {

// Reads each profile in `directory` that a report shows, once: the best capture, the newest of each other
// method, and those to show growth from: the same process's trend profiles if the incident has any, else its
// first capture. Bounded: a profile above kMaxTopBytes is left to the command line, because users wait for the
// incident while the report is written (a profile usually has 1-8 KB).
inline constexpr std::size_t kMaxTopBytes = 1u << 20;
[[nodiscard]] ProfileTexts read_profiles(const Incident& incident, const std::string& directory);

}  // namespace oomw
