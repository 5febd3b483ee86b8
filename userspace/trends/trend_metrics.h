// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace oomw {

struct TrendMetrics {
  std::map<std::string, std::uint64_t> readings;  // by result: ok, no_gc, no_memory or a CaptureReason
  // Of programs without heap profiles, by result: ok, budget, headroom, busy or another CaptureReason.
  std::map<std::string, std::uint64_t> contents_readings;
  // CPU time that readings are priced at: of the daemon's threads and of reader processes. Go heaps; other programs.
  double cpu_seconds = 0, contents_cpu_seconds = 0;
  std::uint64_t brought_forward = 0;  // readings taken early because a limit had come near
  std::uint64_t bytes = 0;
  std::map<std::string, std::uint64_t> dropped;  // readings and processes over the budget; tasks that found no room
};

}  // namespace oomw
