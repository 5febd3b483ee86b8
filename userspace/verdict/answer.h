// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "facts/operation_patterns.h"
#include "incident/incident.h"

namespace oomw {

// The incident in one sentence, the code that it names and what to do: heads the report, `show`, the Event and the
// `run` line. A pure function of the incident's evidence and verdict. Every incident has one: where nobody can be
// named, it says what is known and what would tell. patterns: of code that is not the program's own, in a trend's
// sites.
//
// The culprit, the first that the evidence supports:
//   keeps      the exporter whose sending queue grew (a Collector's own metrics)
//   allocates  the call site that the detector reports as a leak, or that made half of the heap's growth (trend)
//   allocates  the place of the program's own code with the largest share of the best profile: a quarter or more
// None where the memory is not that heap's: a limit of others, files, another process, off_heap.
[[nodiscard]] IncidentAnswer answer_of(const Incident& incident, const OperationPatterns& patterns = {});

}  // namespace oomw
