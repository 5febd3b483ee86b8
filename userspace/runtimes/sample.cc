// SPDX-License-Identifier: Apache-2.0
#include "runtimes/sample.h"

#include <algorithm>
#include <cmath>

namespace oomw {
namespace {

// splitmix64: any seed will do, also 0.
std::uint64_t next_random(std::uint64_t& state) {
  state += 0x9e3779b97f4a7c15;
  std::uint64_t mixed = (state ^ state >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

}  // namespace

bool SampleChoice::takes_next() {
  if (place_ == 0) chosen_ = next_random(state_) % one_in_;
  const bool is_chosen = place_ == chosen_;
  place_ = (place_ + 1) % one_in_;
  return is_chosen;
}

Estimate estimate_of(const SampledSum& sampled, const SampledUnits& units) {
  if (units.read == 0) return {};
  const auto all = static_cast<double>(units.all), read = static_cast<double>(units.read);
  Estimate estimate;
  estimate.value = static_cast<std::uint64_t>(sampled.sum * units.scale());
  estimate.error = estimate.value;
  if (units.read < 2) return estimate;
  const double variance = std::max(sampled.squares - sampled.sum * sampled.sum / read, 0.0) / (read - 1);
  estimate.error = static_cast<std::uint64_t>(2 * all * std::sqrt(std::max(1 - read / all, 0.0) * variance / read));
  return estimate;
}

}  // namespace oomw
