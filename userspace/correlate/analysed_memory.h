// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "events/event.h"
#include "incident/incident.h"

namespace oomw {

// Fills in what analyses of the victim's memory found: analyses, holders, goroutines, composition, and fillers behind
// those of profiles. analyses: oldest first; the newest successful one of each runtime counts, but a sample for
// its composition alone where all was read when the memory was three quarters as large or more. How a holder grew
// counts from the one before. Pure.
void add_analyses(Incident& incident, const std::vector<HeapAnalysed>& analyses, MonotonicTime kill,
                  std::int64_t wall_offset_ns);

}  // namespace oomw
