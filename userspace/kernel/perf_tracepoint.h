// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/unique_fd.h"

namespace oomw {

// Attaches a program of type tracepoint to "category/name" through perf. Returns the link; if refused, it is invalid
// and errno is set. ENOENT: no tracefs here, or no such tracepoint.
[[nodiscard]] UniqueFd attach_by_perf(int program_fd, const std::string& tracepoint);

}  // namespace oomw
