// SPDX-License-Identifier: Apache-2.0
// The parts of report.md that answer "why" and "what now". Every text is escaped for Markdown.
#pragma once

#include <string>

#include "incident/incident.h"

namespace oomw {

// What happened and whose code it was; the code with the path to the allocation and its operation; what to do. One
// paragraph of up to three lines, without a line end after the last. "" = written before there were answers.
[[nodiscard]] std::string answer_lines(const Incident& incident);
[[nodiscard]] std::string answer_section(const Incident& incident);
// The cause, its confidence, the numbers, the suggested limit, and the other causes that the evidence supports.
[[nodiscard]] std::string verdict_section(const Incident& incident);
[[nodiscard]] std::string next_steps_section(const Incident& incident);
// How the Go heap and its call sites changed; "" without readings.
[[nodiscard]] std::string trend_section(const Incident& incident);

}  // namespace oomw
