// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "captures/capture.h"

namespace oomw {

// What is known of a capture before it is tried; whoever tries adds result and reason. Of the first
// target, until it is another that answers.
[[nodiscard]] CaptureFinished event_of(const CaptureRequest& request, CaptureMethod method, MonotonicTime started);

}  // namespace oomw
