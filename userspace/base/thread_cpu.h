// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ctime>

#include "base/clock.h"

namespace oomw {

// CPU time of the calling thread.
[[nodiscard]] inline Nanoseconds thread_cpu() {
  timespec spent{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
  return std::chrono::seconds(spent.tv_sec) + Nanoseconds(spent.tv_nsec);
}

}  // namespace oomw
