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

// Steps to fix the cause, with the incident's own files and names; every name that a workload controls is
// quoted for the shell. In order: steps for the cause, Collector settings, further places to inspect. Pure.
[[nodiscard]] std::vector<NextStep> next_steps(const Incident& incident);

}  // namespace oomw
