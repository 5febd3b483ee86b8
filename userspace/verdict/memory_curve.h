// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "incident/incident.h"

namespace oomw {

// The container's memory that cannot be reclaimed, at even steps up to the kill. It starts at the first reading
// or, if one process held most of the memory, at that process's start: a unit that restarts in its cgroup also
// has the readings of its earlier life there.
//
// Readings are 10 s apart below half of the limit and 1 s above it, and come with every watermark;
// between two of them a straight line is assumed: see memory_readings().
class MemoryCurve {
 public:
  static constexpr std::size_t kSteps = 32;

  // nullopt: shorter than threshold::kSpikeSeconds, or too few readings.
  [[nodiscard]] static std::optional<MemoryCurve> of(const Incident& incident);

  [[nodiscard]] double seconds() const { return seconds_; }
  // part: 0 = the first reading, 1 = the kill.
  [[nodiscard]] double at(double part) const;
  // The part at a time given in seconds before the kill.
  [[nodiscard]] double part_at(double seconds) const;
  // The minimum from there on: what the process never gave back. Follows a sawtooth's troughs, not its peaks.
  [[nodiscard]] double floor_from(double part) const;
  // The floor's slope over [part, 1] in bytes per second, by the Theil-Sen estimator.
  [[nodiscard]] double floor_slope(double part) const;
  // The median value over the time in [part, 1].
  [[nodiscard]] double median_from(double part) const;
  // The same slope for the memory itself.
  [[nodiscard]] double slope_between(double from, double to) const;
  [[nodiscard]] double slope_from(double part) const;
  // The largest share of the time in [part, 1] that was spent within any one band of `width` bytes.
  [[nodiscard]] double stay(double part, double width) const;
  // The maximum up to the last reading.
  [[nodiscard]] double peak() const;

 private:
  [[nodiscard]] double slope_of(const std::vector<double>& values, double from, double to) const;
  [[nodiscard]] static std::size_t index_of(double part);

  double seconds_ = 0, end_ = 0;
  std::vector<double> bytes_;   // kSteps + 1
  std::vector<double> floors_;  // the minimum from each step on
};

}  // namespace oomw
