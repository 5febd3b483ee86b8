// SPDX-License-Identifier: Apache-2.0
// The parts of report.md that answer "why" and "what now". Every text is fit for Markdown.
#pragma once

#include <string>

#include "incident/incident.h"

namespace oomw {

// The cause, how sure, the numbers, the limit that is suggested, and what else the evidence supports.
[[nodiscard]] std::string verdict_section(const Incident& incident);
[[nodiscard]] std::string next_steps_section(const Incident& incident);
// How the Go heap changed, and which call sites; "" without readings.
[[nodiscard]] std::string trend_section(const Incident& incident);

}  // namespace oomw
