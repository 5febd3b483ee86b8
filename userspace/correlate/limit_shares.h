// SPDX-License-Identifier: Apache-2.0
// The usage of each container under a pod's limit that several containers share. Pure.
#pragma once

#include <vector>

#include "correlate/kill_evidence.h"
#include "incident/incident.h"
#include "model/memory_model.h"

namespace oomw {

// One entry for each of the pod's containers, the victim's first: its last reading up to the kill, or within a second
// after it if it lost no process. Never less than its victims held. Empty unless a pod's limit was hit that is not one
// container's alone.
[[nodiscard]] std::vector<LimitShare> shares_of(const KillEvidence& evidence, const MemoryModel& model);

}  // namespace oomw
