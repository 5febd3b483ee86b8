// SPDX-License-Identifier: Apache-2.0
#include "incident/growth_pattern.h"

#include <vector>

#include <gtest/gtest.h>

namespace oomw {
namespace {

using Parts = std::vector<std::uint64_t>;
constexpr double kLong = 30;

std::optional<GrowthPattern> pattern(const Parts& parts, double seconds = kLong) {
  return pattern_of(parts, 1, seconds);
}

TEST(GrowthPattern, growth_in_nearly_all_parts_up_to_the_end_is_persistent) {
  for (const Parts& parts :
       {Parts{5, 5, 5, 5, 5, 5, 5, 5}, Parts{9, 2, 8, 3, 9, 2, 4, 7}, Parts{4, 0, 4, 4, 4, 0, 4, 4},
        Parts{4, 4, 4, 4, 4, 4, 4, 0}, Parts{0, 4, 4, 4, 4, 4, 4, 4}}) {
    EXPECT_EQ(pattern(parts), GrowthPattern::kPersistent) << ::testing::PrintToString(parts);
  }
}

TEST(GrowthPattern, growth_that_came_in_two_parts_and_not_later_is_one_off) {
  for (const Parts& parts : {Parts{90, 0, 0, 0, 0, 0, 0, 0}, Parts{0, 40, 50, 0, 0, 0, 0, 0},
                             Parts{1, 1, 0, 0, 45, 45, 1, 1}, Parts{91, 1, 1, 1, 1, 1, 1, 1}}) {
    EXPECT_EQ(pattern(parts), GrowthPattern::kOneOff) << ::testing::PrintToString(parts);
  }
}

TEST(GrowthPattern, what_came_last_or_in_half_of_the_time_is_neither) {
  for (const Parts& parts :
       {Parts{0, 0, 0, 0, 0, 0, 0, 90}, Parts{0, 0, 0, 0, 0, 45, 45, 0}, Parts{9, 9, 9, 9, 0, 0, 0, 0},
        Parts{0, 0, 0, 9, 9, 9, 9, 9}, Parts{9, 9, 9, 9, 9, 9, 0, 0}, Parts{60, 1, 1, 20, 1, 1, 1, 5}}) {
    EXPECT_EQ(pattern(parts), std::nullopt) << ::testing::PrintToString(parts);
  }
}

TEST(GrowthPattern, a_short_climb_or_few_levels_show_nothing) {
  const Parts steady = {5, 5, 5, 5, 5, 5, 5, 5}, once = {90, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(pattern(steady, 4.9), std::nullopt);
  EXPECT_EQ(pattern(once, 4.9), std::nullopt);
  EXPECT_EQ(pattern_of(steady, 6, kLong), std::nullopt);
  EXPECT_EQ(pattern_of(once, 12, kLong), std::nullopt);
  EXPECT_EQ(pattern_of(once, 11, kLong), GrowthPattern::kOneOff);
  EXPECT_EQ(pattern({}), std::nullopt);
  EXPECT_EQ(pattern({0, 0, 0, 0, 0, 0, 0, 0}), std::nullopt);
  EXPECT_EQ(pattern({9, 9}), std::nullopt);
}

TEST(GrowthPattern, a_part_with_half_of_the_mean_and_two_levels_grew) {
  EXPECT_EQ(parts_that_grew(Parts{10, 10, 10, 10, 10, 10, 16, 4}, 1), 7u);
  EXPECT_EQ(parts_that_grew(Parts{10, 10, 10, 10, 10, 10, 16, 4}, 6), 1u);
  EXPECT_EQ(parts_that_grew(Parts{0, 0}, 0), 0u);
  EXPECT_EQ(parts_that_grew({}, 1), 0u);
}

// As an end-to-end test saw it: each round of the scratch memory left a level behind, and the last one stands.
TEST(GrowthPattern, levels_that_rounds_of_scratch_memory_left_behind_are_no_growth) {
  EXPECT_EQ(pattern({0, 1, 1, 1, 0, 1, 1, 16}), std::nullopt);
  EXPECT_EQ(pattern({1, 1, 1, 1, 1, 1, 1, 4}), std::nullopt);
}

}  // namespace
}  // namespace oomw
