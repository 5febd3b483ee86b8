// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "incident/incident.h"

namespace oomw {

// The time before the kill as a self-contained picture, 960 x 380: usage against the limit, the part that cannot
// be reclaimed, the levels crossed, and each heap profile that was taken, with tooltips (<title>) and no
// script. The same incident gives the same bytes. "" without a limit, or with fewer than three readings
// before the kill.
[[nodiscard]] std::string timeline_svg(const Incident& incident);
[[nodiscard]] bool has_timeline(const Incident& incident);  // timeline_svg() is not ""
inline constexpr const char* kTimelineFile = "timeline.svg";

}  // namespace oomw
