// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "base/result.h"

namespace oomw {

// How far the clock of the kernel log (local_clock) is ahead of CLOCK_MONOTONIC now: 0.7 ms on a machine that had been
// up for 15 minutes. It grows, since only CLOCK_MONOTONIC follows NTP (500 ppm at most, 43 s a day). perf is the one
// way to compare the two: it stamps its records with local_clock, and renaming the calling thread to its present name
// creates such a record. Error where perf is refused.
[[nodiscard]] Result<Nanoseconds> measure_log_clock(const Clock& clock);

}  // namespace oomw
