// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "correlate/kill_evidence.h"
#include "incident/incident.h"
#include "model/memory_model.h"

namespace oomw {

// The processes beside the victims in their container at the kill; nullopt: none was seen.
[[nodiscard]] std::optional<OtherProcesses> other_processes(const KillEvidence& evidence,
                                                            const std::vector<IncidentVictim>& victims,
                                                            const MemoryModel& model);

}  // namespace oomw
