// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "base/result.h"
#include "events/jvm_figures.h"

namespace oomw::jvm {

// What a JVM publishes for jstat (the file /tmp/hsperfdata_USER/PID, 32 KiB; the file is the workload's). What was in
// use is written by collections, so before the first it is not known. kInvalid: not such a file, or torn.
[[nodiscard]] Result<JvmFigures> parse_perf_data(std::span<const std::byte> file);

// "21 threads, 512 loaded classes; 14 collections took 0.3 of 60.2 s; the last one ended 1.2 s before and left 40.1 MiB
// in the heap, 12.0 MiB in metaspace": of a JVM that has ended. What is not known is left out; "" if nothing is.
[[nodiscard]] std::string last_words(const JvmFigures& figures);

// No JVM has been seen with more.
inline constexpr std::size_t kMaxPerfData = 256u << 10;

}  // namespace oomw::jvm
