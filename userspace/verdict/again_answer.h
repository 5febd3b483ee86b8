// SPDX-License-Identifier: Apache-2.0
// The part of the answer that compares it with the kill before of the same workload.
#pragma once

#include "incident/incident.h"

namespace oomw {

// Fills in answer.again and answer.same_culprit; nothing where no earlier kill is known. Pure. The same culprit is the
// same code, whatever line of it. Another one is said only where both answers claim the same of it and for different
// operations: who allocates and who keeps are two parts of one story, and two functions of one endpoint may be, too.
void compare_with_earlier(Incident& incident);

}  // namespace oomw
