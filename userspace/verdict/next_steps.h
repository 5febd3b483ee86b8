// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "incident/incident.h"

namespace oomw {

struct NextStep {
  std::string what;                   // a sentence; plain text
  std::vector<std::string> commands;  // lines fit for a shell, or for a configuration file
};

// What to do about the cause, with the incident's own files and names; every name that a workload controls
// is quoted for the shell. First what the cause asks for, then what a Collector can be told, then
// where to look further. Pure.
[[nodiscard]] std::vector<NextStep> next_steps(const Incident& incident);

}  // namespace oomw
