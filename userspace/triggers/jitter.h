// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "events/ids.h"

namespace oomw {

[[nodiscard]] inline Nanoseconds scaled(Nanoseconds duration, double factor) {
  return Nanoseconds(static_cast<std::int64_t>(static_cast<double>(duration.count()) * factor));
}

// 0 to 1, always the same for one process: a hundred replicas started together are not inspected together.
[[nodiscard]] inline double phase_of(ProcessKey process) {
  const std::uint64_t mixed =
      (process.start_ticks * 31 + static_cast<std::uint32_t>(process.pid)) * 0x9e3779b97f4a7c15ULL;
  return static_cast<double>(mixed >> 40) / static_cast<double>(1U << 24);
}

// A tenth in both directions.
[[nodiscard]] inline Nanoseconds jittered(Nanoseconds interval, ProcessKey process) {
  return scaled(interval, 0.9 + 0.2 * phase_of(process));
}

}  // namespace oomw
