// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "base/result.h"

namespace oomw::jvm {

// What a JVM publishes for jstat (the file /tmp/hsperfdata_USER/PID, 32 KiB). Numbers of threads and classes are of the
// moment, sizes as of the last collection: a JVM that never collected has zeros there.
struct PerfCounters {
  std::optional<std::uint64_t> heap_used_bytes, metaspace_used_bytes, metaspace_capacity_bytes;
  std::optional<std::uint64_t> threads_live, threads_peak, loaded_classes, collections;
};

// The counters of the file; the file is the workload's. kInvalid: not such a file, or torn.
[[nodiscard]] Result<PerfCounters> parse_perf_data(std::span<const std::byte> file);

// No JVM has been seen with more.
inline constexpr std::size_t kMaxPerfData = 256u << 10;

}  // namespace oomw::jvm
