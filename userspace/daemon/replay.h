// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "correlate/correlator.h"
#include "incident/incident.h"
#include "triggers/trigger_policy.h"

namespace oomw {

// A recording through the same pipeline as live events, with the recording's own times. Each
// incident once, in its last form, in the order of the kills. The same recording gives the same
// incidents, always.
[[nodiscard]] Result<std::vector<Incident>> replay(const std::string& recording_path, const TriggerConfig& triggers,
                                                   const CorrelatorConfig& correlator);

}  // namespace oomw
