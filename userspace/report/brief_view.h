// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"
#include "incident/incident.h"
#include "report/markdown_view.h"

namespace oomw {

inline constexpr std::size_t kBriefLines = 25;

// One incident on one screen: what happened, whose code, what to do; then as much as fits of the reasons, the memory
// and the commands to go on with; `tail` at its end. At most `lines` lines of a terminal of 80 columns or more. Pure.
[[nodiscard]] std::string brief_text(const Incident& incident, const std::string& tail, WallTime now,
                                     const TerminalView& view, std::size_t lines = kBriefLines);
// A tail of three lines of text that is not ours: the command that prints all of the incident, and where its files are.
[[nodiscard]] std::string where_the_rest_is(const std::string& command, const std::string& place,
                                            const TerminalView& view);

}  // namespace oomw
