// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"
#include "correlate/kill_evidence.h"

namespace oomw {

// "20261121T030405Z-1a2b3c4d". The same events give the same id, live or replayed. `time`: of the first kill.
[[nodiscard]] std::string incident_id(const KillEvidence& evidence, WallTime time);

}  // namespace oomw
