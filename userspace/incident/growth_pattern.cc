// SPDX-License-Identifier: Apache-2.0
#include "incident/growth_pattern.h"

#include <algorithm>
#include <numeric>

#include "incident/incident_growth.h"

namespace oomw {
namespace {

constexpr double kLeastSeconds = 5;
constexpr std::size_t kLeastParts = 6, kLate = 2;
constexpr double kLeastOfMean = 0.5, kMostOfOneOff = 0.9;

double sum_of(std::span<const std::uint64_t> parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, std::uint64_t bytes) { return sum + static_cast<double>(bytes); });
}

}  // namespace

std::size_t parts_that_grew(std::span<const std::uint64_t> parts, std::uint64_t slot_bytes) {
  const double mean = sum_of(parts) / static_cast<double>(std::max<std::size_t>(parts.size(), 1));
  const double least = std::max(kLeastOfMean * mean, 2.0 * static_cast<double>(slot_bytes));
  return static_cast<std::size_t>(std::ranges::count_if(
      parts, [&](std::uint64_t bytes) { return bytes > 0 && static_cast<double>(bytes) >= least; }));
}

std::optional<GrowthPattern> pattern_of(std::span<const std::uint64_t> parts, std::uint64_t slot_bytes,
                                        double sampled_seconds) {
  const double sum = sum_of(parts);
  const bool is_enough = parts.size() == IncidentGrowth::kParts && sampled_seconds >= kLeastSeconds && sum > 0 &&
                         sum >= static_cast<double>(slot_bytes) * static_cast<double>(parts.size());
  if (!is_enough) return std::nullopt;
  const double mean = sum / static_cast<double>(parts.size());
  const bool is_late = sum_of(parts.last(kLate)) >= kLeastOfMean * mean;
  if (is_late && parts_that_grew(parts, slot_bytes) >= kLeastParts) return GrowthPattern::kPersistent;
  for (std::size_t i = 0; i + 2 + kLate <= parts.size(); ++i) {
    if (sum_of(parts.subspan(i, 2)) >= kMostOfOneOff * sum) return GrowthPattern::kOneOff;
  }
  return std::nullopt;
}

}  // namespace oomw
