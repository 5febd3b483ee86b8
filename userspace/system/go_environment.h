// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "events/event.h"

namespace oomw {

// GOGC and GOMEMLIMIT of /proc/PID/environ (entries that end with NUL), as Go's runtime reads them at start (readGOGC
// of runtime/mgcpacer.go, parseByteCount of runtime/string.go): of several entries the first, "off" or a number for
// GOGC (any other text is the default), a number with B, KiB, MiB, GiB, TiB or no unit for GOMEMLIMIT. Written by the
// workload, which may have overwritten it since: only two numbers are returned.
[[nodiscard]] GoConfig go_config_of(std::string_view environment);

}  // namespace oomw
