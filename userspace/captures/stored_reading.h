// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"
#include "captures/capture.h"
#include "facts/operation_patterns.h"
#include "runtimes/runtime.h"

namespace oomw {

// The common end of every reading of a heap: names its addresses by the process's executable until `deadline` and
// writes a profile. Addresses that could not be named stay, and the comments record it. shortfall: why it is not whole;
// kPartial if it is not and nothing else is known. Takes about 55 MB for 60,000 holdings of 20 frames while it runs and
// gives them back.
[[nodiscard]] CaptureOutcome store_reading(HeapReading reading, const RuntimeProcess& process, CaptureFinished begun,
                                           MonotonicTime taken_at, CaptureReason shortfall,
                                           const std::string& provenance, const OperationPatterns& patterns,
                                           const Clock& clock, MonotonicTime deadline);

}  // namespace oomw
