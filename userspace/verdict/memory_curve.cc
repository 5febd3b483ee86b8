// SPDX-License-Identifier: Apache-2.0
#include "verdict/memory_curve.h"

#include <algorithm>
#include <cmath>

#include "trends/robust_slope.h"
#include "verdict/readings.h"
#include "verdict/thresholds.h"

namespace oomw {

std::optional<MemoryCurve> MemoryCurve::of(const Incident& incident) {
  const Readings readings = memory_readings(incident);
  if (readings.empty()) return std::nullopt;
  const double start = std::min(readings.front().seconds, start_of_holder(incident).value_or(HUGE_VAL));
  const auto is_in_it = [&](const Reading& reading) { return reading.seconds <= start; };
  if (std::ranges::count_if(readings, is_in_it) < static_cast<std::ptrdiff_t>(threshold::kReadingsOfCurve))
    return std::nullopt;
  MemoryCurve curve;
  curve.end_ = readings.back().seconds;
  curve.seconds_ = start - curve.end_;
  if (!(curve.seconds_ >= threshold::kSpikeSeconds)) return std::nullopt;
  for (std::size_t i = 0; i <= kSteps; ++i) {
    curve.bytes_.push_back(
        value_at(readings, start - curve.seconds_ * static_cast<double>(i) / static_cast<double>(kSteps)));
  }
  curve.floors_ = curve.bytes_;
  for (std::size_t i = kSteps; i-- > 0;) curve.floors_[i] = std::min(curve.floors_[i], curve.floors_[i + 1]);
  return curve;
}

std::size_t MemoryCurve::index_of(double part) {
  return static_cast<std::size_t>(std::lround(std::clamp(part, 0.0, 1.0) * static_cast<double>(kSteps)));
}

double MemoryCurve::at(double part) const { return bytes_[index_of(part)]; }
double MemoryCurve::floor_from(double part) const { return floors_[index_of(part)]; }
double MemoryCurve::part_at(double seconds) const { return std::clamp(1 - (seconds - end_) / seconds_, 0.0, 1.0); }
double MemoryCurve::floor_slope(double part) const { return slope_of(floors_, part, 1); }
double MemoryCurve::slope_between(double from, double to) const { return slope_of(bytes_, from, to); }
double MemoryCurve::slope_from(double part) const { return slope_between(part, 1); }
double MemoryCurve::peak() const { return *std::ranges::max_element(bytes_); }

double MemoryCurve::stay(double part, double width) const {
  std::vector<double> values(bytes_.begin() + static_cast<std::ptrdiff_t>(index_of(part)), bytes_.end());
  std::ranges::sort(values);
  std::size_t most = 0;
  for (std::size_t low = 0, high = 0; high < values.size(); ++high) {
    while (values[high] - values[low] > width) ++low;
    most = std::max(most, high - low + 1);
  }
  return static_cast<double>(most) / static_cast<double>(values.size());
}

double MemoryCurve::slope_of(const std::vector<double>& values, double from, double to) const {
  std::vector<double> times, kept;
  for (std::size_t i = index_of(from); i <= index_of(to); ++i) {
    times.push_back(seconds_ * static_cast<double>(i) / static_cast<double>(kSteps));
    kept.push_back(values[i]);
  }
  return robust_slope(times, kept, std::nullopt).value;
}

double MemoryCurve::median_from(double part) const {
  std::vector<double> values(bytes_.begin() + static_cast<std::ptrdiff_t>(index_of(part)), bytes_.end());
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace oomw
