// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "correlate/kill_evidence.h"
#include "model/memory_model.h"

namespace oomw {

// Notes on how the facts of a decision were obtained. They have the form "<field>: <why>".

// Victims that are not listed, lived elsewhere, or belong to other decisions.
[[nodiscard]] std::vector<std::string> victim_notes(const KillEvidence& evidence, const MemoryModel& model);
// The limit's owner and how it is known; a limit that was changed at run time; an unnamed group.
[[nodiscard]] std::vector<std::string> limit_notes(const KillEvidence& evidence, const MemoryModel& model);

}  // namespace oomw
