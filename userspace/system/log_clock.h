// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "base/result.h"

namespace oomw {

// How far the clock of the kernel log (local_clock) is ahead of CLOCK_MONOTONIC now: 0.7 ms on a machine
// that was up for 15 minutes, and growing, since only CLOCK_MONOTONIC follows NTP (500 ppm at most, 43 s
// a day). Read from the one place that shows both: perf stamps its records with local_clock, and renaming
// the calling thread to the name that it has makes such a record. Error where perf is refused.
[[nodiscard]] Result<Nanoseconds> measure_log_clock(const Clock& clock);

}  // namespace oomw
