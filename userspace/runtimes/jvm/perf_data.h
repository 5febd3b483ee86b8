// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/result.h"

namespace oomw::jvm {

// What a JVM publishes for jstat (the file /tmp/hsperfdata_USER/PID, 32 KiB). Numbers of threads and classes are of the
// moment, sizes as of the last collection: a JVM that never collected has zeros there.
struct PerfCounters {
  std::optional<std::uint64_t> heap_used_bytes, metaspace_used_bytes, metaspace_capacity_bytes;
  std::optional<std::uint64_t> threads_live, threads_peak, loaded_classes, collections;
  // By the JVM's own clock, which it writes every 50 ms. since_collection: none until it has collected.
  std::optional<double> uptime_seconds, collection_seconds, seconds_since_collection;
};

// The counters of the file; the file is the workload's. kInvalid: not such a file, or torn.
[[nodiscard]] Result<PerfCounters> parse_perf_data(std::span<const std::byte> file);

// "21 threads, 512 loaded classes; 14 collections took 0.3 of 60.2 s; the last one ended 1.2 s before and left 40.1 MiB
// in the heap, 12.0 MiB in metaspace": of a JVM that has ended. What is not known is left out; "" if nothing is.
[[nodiscard]] std::string last_words(const PerfCounters& counters);

// No JVM has been seen with more.
inline constexpr std::size_t kMaxPerfData = 256u << 10;

}  // namespace oomw::jvm
