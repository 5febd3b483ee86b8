// SPDX-License-Identifier: Apache-2.0
#include "trends/robust_slope.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace oomw {
namespace {

TEST(MaxFalls, chances_of_few_points_are_the_exact_ones) {
  EXPECT_EQ(max_falls(4, 0.04), std::nullopt);  // a steady rise: 1 of 24
  EXPECT_EQ(max_falls(4, 1.0 / 24 + 1e-9), 0u);
  EXPECT_EQ(max_falls(5, 5.0 / 120 - 1e-9), 0u);  // one fall: 1 + 4 of 120
  EXPECT_EQ(max_falls(5, 5.0 / 120 + 1e-9), 1u);
  EXPECT_EQ(max_falls(5, 14.0 / 120 + 1e-9), 2u);  // 1 + 4 + 9
}

TEST(MaxFalls, published_critical_value_of_ten_points_at_one_percent) {
  // Tables of Kendall's S: P(S >= 27) = 0.008 and P(S >= 25) = 0.014 for n = 10, so 9 of 45 pairs may fall.
  EXPECT_EQ(max_falls(10, 0.01), 9u);
}

TEST(MaxFalls, no_pair_no_answer) {
  EXPECT_EQ(max_falls(0, 0.5), std::nullopt);
  EXPECT_EQ(max_falls(1, 0.5), std::nullopt);
}

TEST(ChanceOfFalls, is_the_share_of_orders_that_rise_as_much) {
  EXPECT_DOUBLE_EQ(chance_of_falls(3, 0), 1.0 / 6);
  EXPECT_DOUBLE_EQ(chance_of_falls(3, 1), 3.0 / 6);
  EXPECT_DOUBLE_EQ(chance_of_falls(4, 0), 1.0 / 24);
  EXPECT_DOUBLE_EQ(chance_of_falls(4, 6), 1);
  EXPECT_DOUBLE_EQ(chance_of_falls(4, 1000), 1);
  EXPECT_EQ(chance_of_falls(1, 0), 1);
  EXPECT_EQ(chance_of_falls(0, 0), 1);
}

TEST(CountFalls, equal_values_are_falls) {
  EXPECT_EQ(count_falls(std::vector<double>{1, 2, 3}), 0u);
  EXPECT_EQ(count_falls(std::vector<double>{1, 3, 2, 3}), 2u);
  EXPECT_EQ(count_falls(std::vector<double>{}), 0u);
}

TEST(RobustSlope, points_on_a_line_give_it_exactly) {
  const std::vector<double> t = {0, 1, 3, 6, 10}, y = {5, 7, 11, 17, 25};
  const Slope slope = robust_slope(t, y, 0);
  EXPECT_DOUBLE_EQ(slope.value, 2);
  EXPECT_DOUBLE_EQ(slope.low, 2);
  EXPECT_DOUBLE_EQ(slope.high, 2);
}

TEST(RobustSlope, one_wild_point_in_eight_changes_little) {
  std::vector<double> t, y;
  for (int i = 0; i < 8; ++i) {
    t.push_back(i);
    y.push_back(3.0 * i);
  }
  y[4] = 1e9;
  EXPECT_NEAR(robust_slope(t, y, 1).value, 3, 0.01);
}

TEST(RobustSlope, constant_values_are_no_rise) {
  const std::vector<double> t = {0, 1, 2, 3, 4, 5}, y(6, 42);
  EXPECT_EQ(robust_slope(t, y, max_falls(6, 0.05)).low, 0);
}

TEST(RobustSlope, too_few_points_leave_the_slope_open) {
  const std::vector<double> t = {0, 1, 2}, y = {0, 1, 2};
  const Slope slope = robust_slope(t, y, max_falls(3, 0.05));
  EXPECT_TRUE(std::isinf(slope.low));
  EXPECT_TRUE(std::isinf(slope.high));
  EXPECT_DOUBLE_EQ(slope.value, 1);
}

}  // namespace
}  // namespace oomw
