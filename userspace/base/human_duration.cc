// SPDX-License-Identifier: Apache-2.0
#include "base/human_duration.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

namespace oomw {

std::string human_duration(Nanoseconds duration) {
  constexpr std::int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  const std::int64_t seconds = std::max<std::int64_t>(duration.count() / 1'000'000'000, 0);
  if (seconds < 2 * kMinute) return fmt::format("{} s", seconds);
  if (seconds < 2 * kHour) return fmt::format("{} min", seconds / kMinute);
  return seconds < 2 * kDay ? fmt::format("{} h", seconds / kHour) : fmt::format("{} d", seconds / kDay);
}

}  // namespace oomw
