// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>

namespace oomw {

// Reports each level once on the way up; again only after usage fell rearm_percent below it. Pure.
class LevelLatch {
 public:
  // The highest level newly reached. levels: ascending percents of the limit.
  [[nodiscard]] std::optional<std::uint32_t> on_usage(std::uint64_t usage_bytes, std::uint64_t limit_bytes,
                                                      std::span<const std::uint32_t> levels,
                                                      std::uint32_t rearm_percent) {
    if (limit_bytes == 0) return std::nullopt;
    const double percent = 100.0 * static_cast<double>(usage_bytes) / static_cast<double>(limit_bytes);
    const std::uint32_t reached = highest_at(percent, levels);
    if (reached > latched_) {
      latched_ = reached;
      return reached;
    }
    latched_ = std::min(latched_, highest_at(percent + rearm_percent, levels));
    return std::nullopt;
  }

 private:
  static std::uint32_t highest_at(double percent, std::span<const std::uint32_t> levels) {
    std::uint32_t highest = 0;
    for (const std::uint32_t level : levels) {
      if (static_cast<double>(level) <= percent) highest = std::max(highest, level);
    }
    return highest;
  }

  std::uint32_t latched_ = 0;  // the highest level reported; 0 = none
};

}  // namespace oomw
