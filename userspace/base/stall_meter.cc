// SPDX-License-Identifier: Apache-2.0
#include "base/stall_meter.h"

#include <algorithm>

namespace oomw {
namespace {

constexpr std::uint64_t kSlotNumberMask = (1u << 24) - 1;
constexpr std::uint64_t kMaxMicroseconds = (1ull << StallMeter::kMicrosecondBits) - 1;

std::uint64_t slot_number(MonotonicTime time) {
  return static_cast<std::uint64_t>(time.ns / StallMeter::kSlot.count()) & kSlotNumberMask;
}

}  // namespace

void StallMeter::end(MonotonicTime now) {
  const std::int64_t begun = begun_ns_.exchange(0, std::memory_order_relaxed);
  const std::uint64_t took =
      std::min(static_cast<std::uint64_t>(std::max<std::int64_t>(now.ns - begun, 0)) / 1'000, kMaxMicroseconds);
  const std::uint64_t number = slot_number(now);
  std::atomic<std::uint64_t>& slot = slots_[number % kSlots];
  const std::uint64_t known = slot.load(std::memory_order_relaxed);
  const std::uint64_t before = known >> kMicrosecondBits == number ? known & kMaxMicroseconds : 0;
  slot.store(number << kMicrosecondBits | std::max(before, took), std::memory_order_relaxed);
}

Nanoseconds StallMeter::current(MonotonicTime now) const {
  const std::int64_t begun = begun_ns_.load(std::memory_order_relaxed);
  return Nanoseconds(begun == 0 ? 0 : std::max<std::int64_t>(now.ns - begun, 0));
}

Nanoseconds StallMeter::longest(MonotonicTime now) const {
  std::uint64_t longest_us = 0;
  for (const std::atomic<std::uint64_t>& slot : slots_) {
    const std::uint64_t value = slot.load(std::memory_order_relaxed);
    const std::uint64_t age = (slot_number(now) - (value >> kMicrosecondBits)) & kSlotNumberMask;
    if (age < kSlots) longest_us = std::max(longest_us, value & kMaxMicroseconds);
  }
  return std::max<Nanoseconds>(std::chrono::microseconds(longest_us), current(now));
}

}  // namespace oomw
