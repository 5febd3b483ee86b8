// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"
#include "cli/read/markdown_view.h"
#include "store/incident_reader.h"

namespace oomw::cli {

inline constexpr std::size_t kBriefLines = 25;

// One incident on one screen: what happened, whose code, what to do; then as much as fits of the reasons, the memory
// and the commands to go on with, and where all of it is. At most kBriefLines lines of a terminal of 80 columns or
// more. `name` is what a further command takes for this incident, with its options. Pure.
[[nodiscard]] std::string brief_text(const StoredIncident& stored, const std::string& name, WallTime now,
                                     const TerminalView& view);

}  // namespace oomw::cli
