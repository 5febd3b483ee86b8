// SPDX-License-Identifier: Apache-2.0
// Reading a part of a memory in place of all of it: which part, and what all of it is by that. Pure.
#pragma once

#include <cstdint>

namespace oomw {

// Of so many units in a row (pools, regions) one is read. 1: each of them.
struct SampleRate {
  std::uint32_t one_in = 1;
  std::uint64_t seed = 0;  // decides which
  [[nodiscard]] bool is_whole() const { return one_in <= 1; }
};

// Chooses one of each `one_in` units in a row, at random: allocators are periodic, so every n-th would not do.
class SampleChoice {
 public:
  explicit SampleChoice(SampleRate rate) : one_in_(rate.is_whole() ? 1 : rate.one_in), state_(rate.seed) {}
  // Whether the next unit is one of them.
  [[nodiscard]] bool takes_next();

 private:
  const std::uint64_t one_in_;
  std::uint64_t state_, place_ = 0, chosen_ = 0;
};

// A quantity in the units that were read.
struct SampledSum {
  double sum = 0, squares = 0;
  void add(double value) { sum += value, squares += value * value; }
};

struct SampledUnits {
  std::uint64_t all = 0, read = 0;
  [[nodiscard]] double scale() const { return read == 0 ? 0 : static_cast<double>(all) / static_cast<double>(read); }
};

struct Estimate {
  std::uint64_t value = 0;
  std::uint64_t error = 0;  // two standard deviations
};

// Of all units. The deviation is that of units chosen from anywhere, which is no smaller than that of units chosen from
// each part of the memory. With fewer than two units it is not known: the error is then as large as the value.
[[nodiscard]] Estimate estimate_of(const SampledSum& sampled, const SampledUnits& units);

}  // namespace oomw
