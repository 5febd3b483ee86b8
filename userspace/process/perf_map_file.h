// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/unique_fd.h"

namespace oomw {

// Opens /tmp/perf-PID.map as the process sees it: in its root directory, under its number in its pid namespace. Links
// are followed inside that root only, and only a regular file is taken. Invalid if there is none. May block on a file
// system that hangs. directory: an open /proc/PID.
[[nodiscard]] UniqueFd open_perf_map(int directory);

}  // namespace oomw
