// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "events/event.h"
#include "incident/incident.h"

namespace oomw {

// Fills in `fillers` and `operations` from the incident's best profile; how much an operation grew counts from the
// first comparable profile of the same process. captures: those of incident.captures, in the same order. Pure.
void add_fillers(Incident& incident, const std::vector<CaptureFinished>& captures);

}  // namespace oomw
