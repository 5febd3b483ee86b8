// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

#include "incidents/incident.h"

namespace oomw {

// File -> `oomwitness top` text, for the best capture and the newest of each other method that is
// in `directory`. Bounded: a profile above kMaxTopBytes is left to the command line, since the
// report is written while someone waits for the incident (a usual profile has 1-8 KB).
inline constexpr std::size_t kMaxTopBytes = 1u << 20;
[[nodiscard]] std::map<std::string, std::string> tops_of(const Incident& incident, const std::string& directory);

// incident.collector's components, from the best capture that is in `directory`; makes the victim a
// Collector where its profile says so. Bounded alike.
void add_components(Incident& incident, const std::string& directory);

}  // namespace oomw
