// SPDX-License-Identifier: Apache-2.0
#include "model/series.h"

#include <algorithm>
#include <utility>

namespace oomw {

namespace {

constexpr std::int64_t kNanosecondsPerMs = 1'000'000;
constexpr std::int64_t kMinGrowthSpanMs = 10;
// Removed at a time: sorting 256 points takes 10 us, and happens once in so many readings.
constexpr std::size_t kThinned = 32;
// All points of the last second count as equally old: gaps there would otherwise shrink to nothing.
constexpr double kRecentMs = 1000;

// 32 bits of KiB hold 4 TiB; more than that shows as 4 TiB.
std::uint32_t to_kib(std::uint64_t bytes) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes / 1024, UINT32_MAX - 1));
}

}  // namespace

// 32 bits of milliseconds last 49 days. Past that the series starts over: nothing that old
// explains a kill.
std::optional<std::uint32_t> Series::offset_ms(MonotonicTime time) {
  if (packed_.empty()) origin_ = time;
  const std::int64_t ms = (time - origin_).count() / kNanosecondsPerMs;
  if (ms < 0 || (!packed_.empty() && ms < packed_.back().ms)) return std::nullopt;
  if (ms <= UINT32_MAX) return static_cast<std::uint32_t>(ms);
  packed_.clear();
  origin_ = time;
  return 0;
}

void Series::add(const SeriesPoint& point, bool force) {
  const auto ms = offset_ms(point.time);
  if (!ms) return;
  const Packed packed{*ms, to_kib(point.usage_bytes),
                      point.nonreclaimable_bytes ? to_kib(*point.nonreclaimable_bytes) : kUnknownKib};
  if (!packed_.empty() && !force && point.time - anchor_ < kMinGap) {
    packed_.back() = packed;
    return;
  }
  if (packed_.size() >= kCapacity) thin();
  packed_.push_back(packed);
  anchor_ = point.time;
}

// Two neighbours never go together: the gap left between them would be twice as wide as was judged.
void Series::thin() {
  const auto gap_for_age = [&](std::size_t i) {
    return (packed_[i + 1].ms - packed_[i - 1].ms) / (packed_.back().ms - packed_[i].ms + kRecentMs);
  };
  std::vector<std::pair<double, std::size_t>> inner;
  inner.reserve(packed_.size());
  for (std::size_t i = 1; i + 1 < packed_.size(); ++i) inner.emplace_back(gap_for_age(i), i);
  std::sort(inner.begin(), inner.end());

  std::vector<bool> goes(packed_.size());
  std::size_t gone = 0;
  for (const auto& [gap, i] : inner) {
    if (gone == kThinned) break;
    if (goes[i - 1] || goes[i + 1]) continue;
    goes[i] = true;
    ++gone;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < packed_.size(); ++i) {
    if (!goes[i]) packed_[kept++] = packed_[i];
  }
  packed_.resize(kept);
}

SeriesPoint Series::unpack(const Packed& packed) const {
  SeriesPoint point;
  point.time = {origin_.ns + packed.ms * kNanosecondsPerMs};
  point.usage_bytes = std::uint64_t{packed.usage_kib} * 1024;
  if (packed.nonreclaimable_kib != kUnknownKib) {
    point.nonreclaimable_bytes = std::uint64_t{packed.nonreclaimable_kib} * 1024;
  }
  return point;
}

std::vector<SeriesPoint> Series::points() const {
  std::vector<SeriesPoint> result;
  result.reserve(packed_.size());
  for (const Packed& packed : packed_) result.push_back(unpack(packed));
  return result;
}

std::optional<double> Series::growth_bytes_per_second(Nanoseconds window, MonotonicTime since) const {
  if (packed_.size() < 2) return std::nullopt;
  const std::int64_t window_ms = window.count() / kNanosecondsPerMs;
  const std::int64_t last_ms = packed_.back().ms;
  std::size_t first = packed_.size() - 1;
  const auto has_fallen = [&](std::size_t i) { return packed_[i].usage_kib < packed_[i - 1].usage_kib / 2; };
  while (first > 0 && last_ms - packed_[first].ms < std::max(window_ms, kMinGrowthSpanMs) && !has_fallen(first) &&
         unpack(packed_[first - 1]).time >= since) {
    --first;
  }
  if (last_ms - packed_[first].ms < kMinGrowthSpanMs) return std::nullopt;

  const double count = static_cast<double>(packed_.size() - first);
  double mean_t = 0, mean_y = 0;
  for (std::size_t i = first; i < packed_.size(); ++i) {
    mean_t += packed_[i].ms / count;
    mean_y += packed_[i].usage_kib / count;
  }
  double covariance = 0, variance = 0;
  for (std::size_t i = first; i < packed_.size(); ++i) {
    const double dt = packed_[i].ms - mean_t;
    covariance += dt * (packed_[i].usage_kib - mean_y);
    variance += dt * dt;
  }
  return covariance / variance * 1024 * 1000;  // KiB per ms to bytes per second
}

std::optional<double> Series::steady_growth_bytes_per_second(std::uint64_t most_bytes) const {
  constexpr std::int64_t kLeastMs = 250;
  if (packed_.empty()) return std::nullopt;
  const Packed& last = packed_.back();
  const auto before = std::find_if(packed_.rbegin(), packed_.rend(),
                                   [&](const Packed& one) { return std::int64_t{last.ms} - one.ms >= kLeastMs; });
  if (before == packed_.rend()) return std::nullopt;
  const double risen = (static_cast<double>(last.usage_kib) - before->usage_kib) * 1024;
  if (risen > static_cast<double>(most_bytes)) return std::nullopt;
  return risen * 1000 / static_cast<double>(last.ms - before->ms);
}

}  // namespace oomw
