// SPDX-License-Identifier: Apache-2.0
// Sums of values that a file claims: they stop at the ends of their type instead of wrapping.
#pragma once

#include <cstdint>
#include <limits>

namespace oomw::pprof {

inline constexpr std::int64_t kMaxValue = std::numeric_limits<std::int64_t>::max();

[[nodiscard]] inline std::int64_t saturating_add(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return b > 0 ? kMaxValue : -kMaxValue;
}

// Also defined for the smallest number, which has no positive counterpart.
[[nodiscard]] inline std::int64_t negated(std::int64_t value) { return value < -kMaxValue ? kMaxValue : -value; }

[[nodiscard]] inline std::int64_t magnitude(std::int64_t value) { return value < 0 ? negated(value) : value; }

[[nodiscard]] inline std::int64_t clamped(std::uint64_t value) {
  return value < std::uint64_t{kMaxValue} ? static_cast<std::int64_t>(value) : kMaxValue;
}

}  // namespace oomw::pprof
