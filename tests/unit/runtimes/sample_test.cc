// SPDX-License-Identifier: Apache-2.0
#include "runtimes/sample.h"

#include <cmath>
#include <set>
#include <vector>

#include <gtest/gtest.h>

namespace oomw {
namespace {

std::vector<int> taken_of(SampleRate rate, int units) {
  SampleChoice choice(rate);
  std::vector<int> taken;
  for (int i = 0; i < units; ++i) {
    if (choice.takes_next()) taken.push_back(i);
  }
  return taken;
}

TEST(SampleChoice, one_of_each_so_many_in_a_row_is_taken_at_no_period) {
  const std::vector<int> taken = taken_of({8, 3}, 800);
  ASSERT_EQ(taken.size(), 100u);
  std::set<int> places;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    EXPECT_EQ(taken[i] / 8, static_cast<int>(i));
    places.insert(taken[i] % 8);
  }
  EXPECT_EQ(places.size(), 8u);
  EXPECT_NE(taken, taken_of({8, 4}, 800)) << "another seed";
}

TEST(SampleChoice, a_whole_is_every_unit) {
  EXPECT_EQ(taken_of({}, 5).size(), 5u);
  EXPECT_EQ(taken_of({0, 9}, 5).size(), 5u);
}

// 4 of 16 units with 0, 0, 8 and 8: their variance is 64/3.
TEST(Estimate, has_the_error_of_a_sample_without_replacement) {
  SampledSum sum;
  for (const double value : {0, 0, 8, 8}) sum.add(value);
  const Estimate estimate = estimate_of(sum, {16, 4});
  EXPECT_EQ(estimate.value, 64u);
  EXPECT_EQ(estimate.error, static_cast<std::uint64_t>(2 * 16 * std::sqrt(0.75 * 64 / 3 / 4)));
}

TEST(Estimate, of_all_units_has_no_error_and_of_one_nothing_but_error) {
  SampledSum sum;
  sum.add(5);
  EXPECT_EQ(estimate_of(sum, {10, 1}).error, 50u);
  sum.add(9);
  EXPECT_EQ(estimate_of(sum, {2, 2}).value, 14u);
  EXPECT_EQ(estimate_of(sum, {2, 2}).error, 0u);
  EXPECT_EQ(estimate_of({}, {0, 0}).value, 0u);
}

TEST(Estimate, is_right_on_average_also_where_the_memory_is_periodic_or_clustered) {
  constexpr int kUnits = 1000, kSeeds = 400;
  for (const bool is_clustered : {false, true}) {
    const auto value_of = [&](int unit) {
      return is_clustered ? (unit < 100 ? 10.0 : 0.0) : (unit % 8 == 0 ? 8.0 : 0.0);
    };
    double truth = 0, average = 0;
    for (int i = 0; i < kUnits; ++i) truth += value_of(i);
    for (int seed = 0; seed < kSeeds; ++seed) {
      SampledSum sum;
      const std::vector<int> taken = taken_of({8, static_cast<std::uint64_t>(seed)}, kUnits);
      for (const int unit : taken) sum.add(value_of(unit));
      average += static_cast<double>(estimate_of(sum, {kUnits, taken.size()}).value) / kSeeds;
    }
    EXPECT_NEAR(average, truth, 0.03 * truth) << is_clustered;
  }
}

}  // namespace
}  // namespace oomw
