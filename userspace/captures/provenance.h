// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/clock.h"
#include "captures/capture.h"

namespace oomw {

// The comment that a stored profile carries, shown by `go tool pprof -comments`:
//   oomwitness: method=http trigger=watermark_90 pid=17 comm=otelcol time=... usage_bytes=...
// Unknown sizes are "unknown". Printable; a value with spaces or quotes is quoted.
[[nodiscard]] std::string provenance_comment(CaptureMethod method, const CaptureRequest& request,
                                             const CaptureTarget& target, WallTime taken);

}  // namespace oomw
