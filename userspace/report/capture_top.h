// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "incident/incident.h"

namespace oomw {

// Reads each profile in `directory` once that a report shows: the best capture, the newest of each
// other method, and what its growth is told from: the trend's profiles of the same process
// (trend-NN.pb.gz) where they lie there already, else its first capture. Puts the best one's Collector
// components into `incident`, which makes the victim a Collector where its profile says so. Bounded: a
// profile above kMaxTopBytes is left to the command line, since the report is written while someone
// waits for the incident (a usual profile has 1-8 KB).
inline constexpr std::size_t kMaxTopBytes = 1u << 20;
[[nodiscard]] ProfileTexts read_profiles(Incident& incident, const std::string& directory);

}  // namespace oomw
