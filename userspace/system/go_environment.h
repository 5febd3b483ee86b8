// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "events/event.h"

namespace oomw {

// GOGC and GOMEMLIMIT of /proc/PID/environ (entries end with NUL), read as Go's runtime reads them at start (readGOGC
// of runtime/mgcpacer.go, parseByteCount of runtime/string.go). The first of several entries counts. GOGC is "off" or
// a number (any other text means the default); GOMEMLIMIT is a number with B, KiB, MiB, GiB, TiB or no unit. The
// workload writes this text and may have overwritten it since, so only two numbers are returned.
[[nodiscard]] GoConfig go_config_of(std::string_view environment);

}  // namespace oomw
