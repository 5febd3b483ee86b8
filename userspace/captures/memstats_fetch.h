// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"
#include "captures/capture.h"
#include "captures/endpoint_finder.h"
#include "captures/memstats_text.h"
#include "process/target_process.h"

namespace oomw {

// A Go program's runtime.MemStats are at the end of its heap profile in text. They contain what a profile cannot: freed
// pages not returned, stacks, the runtime's own memory. The request makes the program name every stack and format the
// text, so it is sent only to a program with few stacks whose limit is not near.
//   - GET only, the same listener under the same checks as the profile before it (endpoint_fetch.h).
//   - Only the text's last kTail bytes are kept, however much arrives.
struct MemStatsLimits {
  // Measured with Go 1.19, stacks of 20 calls: each costs the program 0.35 ms and is 1.6 KB of text. 4,670 of them took
  // it 1.6 s and 8 MB of growth; 500 take 0.2 s and less than 1 MB.
  static constexpr std::uint64_t kMostStacks = 500;
  static constexpr std::uint64_t kLeastHeadroom = 8u << 20;
  static constexpr std::uint64_t kTail = 32u << 10;  // with 2 times 256 pauses of 20 digits it is 11 KB
  static constexpr Nanoseconds kPatience = std::chrono::seconds(1);
};
[[nodiscard]] bool may_ask_memstats(const CaptureRequest& request, std::uint64_t stacks);

// Empty: no answer in time, or none that can be trusted. Any thread.
[[nodiscard]] MemStats fetch_memstats(const TargetProcess& process, const PprofEndpoint& endpoint,
                                      const std::string& heap_path, Nanoseconds timeout, std::uint64_t max_body_bytes);

}  // namespace oomw
