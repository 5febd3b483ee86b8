// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"

namespace oomw {

struct SeriesPoint {
  MonotonicTime time;
  std::uint64_t usage_bytes = 0;
  std::optional<std::uint64_t> nonreclaimable_bytes;
};

// One cgroup's memory over time. Bounded: kCapacity points of 12 bytes (3 KiB), kept as KiB and milliseconds since the
// first point; grows only while points arrive. When full, points are thinned by age: those are dropped whose
// neighbours are closest relative to their age. So gaps grow with age: over a minute from 20 ms to a second, over an
// hour from 50 ms to two or three minutes. The first and the last stay. Not thread-safe.
class Series {
 public:
  static constexpr std::size_t kCapacity = 256;

  // Points must come in time order; a point older than the last is ignored. Within kMinGap the newest reading replaces
  // the others (so at most one point per kMinGap) unless `force`.
  static constexpr Nanoseconds kMinGap = std::chrono::milliseconds(5);
  void add(const SeriesPoint& point, bool force = false);
  [[nodiscard]] std::vector<SeriesPoint> points() const;  // oldest first
  [[nodiscard]] std::size_t size() const { return packed_.size(); }
  [[nodiscard]] bool empty() const { return packed_.empty(); }

  // Bytes per second over the newest points spanning at least `window` (least squares), none from before `since` or a
  // fall by half; nullopt with fewer than two points or less than 10 ms between first and last.
  [[nodiscard]] std::optional<double> growth_bytes_per_second(Nanoseconds window, MonotonicTime since = {}) const;
  // Bytes per second since the newest point that is at least 250 ms old at the last one. nullopt: there is none, or
  // usage has risen by more than `most_bytes` since, nobody knows how fast.
  [[nodiscard]] std::optional<double> steady_growth_bytes_per_second(std::uint64_t most_bytes) const;

 private:
  struct Packed {
    std::uint32_t ms = 0;
    std::uint32_t usage_kib = 0;
    std::uint32_t nonreclaimable_kib = 0;  // kUnknownKib: not known
  };
  static constexpr std::uint32_t kUnknownKib = UINT32_MAX;

  [[nodiscard]] std::optional<std::uint32_t> offset_ms(MonotonicTime time);
  [[nodiscard]] SeriesPoint unpack(const Packed& packed) const;
  void thin();
  MonotonicTime origin_;
  // When the last point was first placed. Its time moves on as newer readings replace it: measuring the gap from there
  // would let a steady stream of readings fill one point for ever.
  MonotonicTime anchor_;
  std::vector<Packed> packed_;
};

}  // namespace oomw
