// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "correlate/correlator.h"
#include "incident/incident.h"
#include "triggers/trigger_policy.h"

namespace oomw {

// Sends a recording through the same pipeline as live events, with the recording's own times. Returns each incident
// once, in its last form, in the order of the kills. The same recording always gives the same incidents.
[[nodiscard]] Result<std::vector<Incident>> replay(const std::string& recording_path, const TriggerConfig& triggers,
                                                   const CorrelatorConfig& correlator);

}  // namespace oomw
