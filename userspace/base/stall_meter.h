// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace oomw {

// How long the turns of one thread's loop take: the one under way, and the longest of the last kWindow.
//   - begin() and end(): the measured thread only, around each turn. Two stores, no lock;
//   - the rest: any thread, also while the measured one is stuck, which is when the answer matters;
//   - times are CLOCK_MONOTONIC. A turn belongs to the moment at which it ended.
class StallMeter {
 public:
  static constexpr Nanoseconds kSlot = std::chrono::seconds(30);
  static constexpr std::size_t kSlots = 11;  // the present one is incomplete: 5 minutes at least
  static constexpr Nanoseconds kWindow = (kSlots - 1) * kSlot;

  void begin(MonotonicTime now) { begun_ns_.store(now.ns, std::memory_order_relaxed); }
  void end(MonotonicTime now);

  // The age of the turn under way; 0 while the thread waits.
  [[nodiscard]] Nanoseconds current(MonotonicTime now) const;
  // Of the last 5 to 5.5 minutes, the turn under way included. Reading it resets nothing: any number of scrapers see
  // the same.
  [[nodiscard]] Nanoseconds longest(MonotonicTime now) const;

  // A slot holds the number of its half minute (24 bits) and the longest turn in it in microseconds (40 bits: 12 days).
  // One word, so that a reader never sees one without the other.
  static constexpr unsigned kMicrosecondBits = 40;

 private:
  std::atomic<std::int64_t> begun_ns_ = 0;  // 0: waiting
  std::array<std::atomic<std::uint64_t>, kSlots> slots_{};
};

}  // namespace oomw
