// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "incident/incident.h"

namespace oomw {

struct NextStep {
  std::string what;                   // a sentence; plain text
  std::vector<std::string> commands;  // lines fit for a shell, or for a configuration file
};

// Steps to fix the cause, with the incident's own files and names; every name that a workload controls is
// quoted for the shell. In order: steps for the cause, Collector settings, further places to inspect. Pure.
[[nodiscard]] std::vector<NextStep> next_steps(const Incident& incident);

// `what` for a reader who is not in the incident's directory, as that of report.md is: "(in this directory)" becomes
// "(in PLACE)".
[[nodiscard]] std::string text_elsewhere(const NextStep& step, std::string_view place);

}  // namespace oomw
