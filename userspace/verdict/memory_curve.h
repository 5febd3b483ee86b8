// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <vector>

#include "incident/incident.h"

namespace oomw {

// The container's memory that cannot be reclaimed, at even steps up to the kill: from the first reading, or
// from the victim's start where one process held most of it (a unit that restarts in its cgroup has the
// readings of its earlier life there).
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
  // Of a time, in seconds before the kill.
  [[nodiscard]] double part_at(double seconds) const;
  // The least from then on: what the process never gave back. A sawtooth's troughs, not its peaks.
  [[nodiscard]] double floor_from(double part) const;
  // Bytes per second of the floor over [part, 1]: Theil and Sen's.
  [[nodiscard]] double floor_slope(double part) const;
  // The value that half of the time in [part, 1] was spent below.
  [[nodiscard]] double median_from(double part) const;
  // Bytes per second of the memory itself, likewise.
  [[nodiscard]] double slope_between(double from, double to) const;
  [[nodiscard]] double slope_from(double part) const;
  // Share of the time in [part, 1] that was spent within `width` bytes of one level, of the level where it is most.
  [[nodiscard]] double stay(double part, double width) const;
  // Before the kill itself.
  [[nodiscard]] double peak() const;

 private:
  [[nodiscard]] double slope_of(const std::vector<double>& values, double from, double to) const;
  [[nodiscard]] static std::size_t index_of(double part);

  double seconds_ = 0, end_ = 0;
  std::vector<double> bytes_;   // kSteps + 1
  std::vector<double> floors_;  // the least from each on
};

}  // namespace oomw
