// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace oomw {

// Where the kernel can count the goroutines of one process: addresses and offsets that its own memory proved.
struct GoroutineList {
  static constexpr std::size_t kMaxReasons = 64, kMaxReasonChars = 48;
  std::uint64_t address = 0;              // of runtime.allgs
  std::uint32_t status_offset = 0;        // in a g
  std::uint32_t reason_offset = 0;        // likewise
  std::vector<std::string> wait_reasons;  // by number, as the runtime names them; printable
  friend bool operator==(const GoroutineList&, const GoroutineList&) = default;
};

// Goroutines that did the same at the kill.
struct GoroutineTally {
  std::uint64_t count = 0;
  std::string state;   // "waiting"
  std::string reason;  // what they waited for: "chan receive"; "" = not waiting, or not known
  friend bool operator==(const GoroutineTally&, const GoroutineTally&) = default;
};

}  // namespace oomw
