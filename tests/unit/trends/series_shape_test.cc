// SPDX-License-Identifier: Apache-2.0
#include "trends/series_shape.h"

#include <gtest/gtest.h>

#include <vector>

namespace oomw {
namespace {

TEST(ReturnShare, sawtooth_comes_back_and_a_rise_does_not) {
  EXPECT_EQ(return_share(std::vector<double>{1, 5, 9, 1, 5, 9}), 1);
  EXPECT_EQ(return_share(std::vector<double>{1, 3, 5, 7, 9}), 0);
  EXPECT_EQ(return_share(std::vector<double>{0, 6, 4, 10}), 0.2);
  EXPECT_EQ(return_share(std::vector<double>{9, 5, 1}), 1);
}

TEST(ReturnShare, what_has_no_range_has_not_come_back) {
  EXPECT_EQ(return_share({}), 0);
  EXPECT_EQ(return_share(std::vector<double>{4}), 0);
  EXPECT_EQ(return_share(std::vector<double>{4, 4, 4}), 0);
}

TEST(RecentSlopeRatio, tells_what_goes_on_from_what_stopped) {
  const std::vector<double> seconds = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_DOUBLE_EQ(recent_slope_ratio(seconds, std::vector<double>{0, 2, 4, 6, 8, 10, 12, 14, 16}, 0.5), 1);
  EXPECT_DOUBLE_EQ(recent_slope_ratio(seconds, std::vector<double>{0, 2, 4, 6, 8, 8, 8, 8, 8}, 0.5), 0);
  EXPECT_DOUBLE_EQ(recent_slope_ratio(seconds, std::vector<double>{0, 1, 2, 3, 4, 6, 8, 10, 12}, 0.5), 2);
}

TEST(RecentSlopeRatio, is_one_where_it_cannot_be_said) {
  const std::vector<double> seconds = {0, 1, 2, 3, 4, 5};
  EXPECT_EQ(recent_slope_ratio(std::span(seconds).first(5), std::vector<double>{0, 9, 9, 9, 9}, 0.5), 1);
  EXPECT_EQ(recent_slope_ratio(seconds, std::vector<double>{5, 4, 3, 3, 4, 5}, 0.5), 1);
  EXPECT_EQ(recent_slope_ratio({}, {}, 0.5), 1);
}

}  // namespace
}  // namespace oomw
