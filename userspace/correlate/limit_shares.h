// SPDX-License-Identifier: Apache-2.0
// Who filled a pod's limit that is not one container's alone. Pure.
#pragma once

#include <vector>

#include "correlate/kill_evidence.h"
#include "incident/incident.h"
#include "model/memory_model.h"

namespace oomw {

// Of each of the pod's containers, the victim's first: its last reading up to the kill, or within a second after it
// where nobody was killed in it. Never less than what its victims held. Empty: it was no pod's limit, or one
// container's.
[[nodiscard]] std::vector<LimitShare> shares_of(const KillEvidence& evidence, const MemoryModel& model);

}  // namespace oomw
