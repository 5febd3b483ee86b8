// SPDX-License-Identifier: Apache-2.0
#include "cli/read/line_budget.h"

#include <gtest/gtest.h>

namespace oomw::cli {
namespace {

MonotonicTime at_s(std::int64_t seconds) { return {seconds * 1'000'000'000}; }

TEST(LineBudgetTest, a_cgroup_that_says_too_much_is_cut_and_the_neighbour_is_not) {
  LineBudget budget;
  int printed = 0;
  for (int i = 0; i < 3'750; ++i) printed += budget.take({7}, false, at_s(1));
  EXPECT_EQ(printed, 30);
  EXPECT_TRUE(budget.take({8}, false, at_s(1)));
  EXPECT_TRUE(budget.take({7}, true, at_s(1))) << "kills have lines of their own";
  EXPECT_EQ(budget.total_left_out(), 3'720u);
  EXPECT_EQ(budget.last_left_out(), CgroupId{7});
}

TEST(LineBudgetTest, what_was_left_out_is_reported_once_when_the_period_is_over) {
  LineBudget budget;
  for (int i = 0; i < 40; ++i) (void)budget.take({7}, false, at_s(1));
  (void)budget.take({8}, false, at_s(1));
  EXPECT_TRUE(budget.left_out(at_s(10)).empty());
  const auto left_out = budget.left_out(at_s(12));
  ASSERT_EQ(left_out.size(), 1u);
  EXPECT_EQ(left_out[0].cgroup, CgroupId{7});
  EXPECT_EQ(left_out[0].lines, 10u);
  EXPECT_TRUE(budget.left_out(at_s(30)).empty());
  EXPECT_TRUE(budget.take({7}, false, at_s(30)));
}

TEST(LineBudgetTest, cgroups_beyond_the_bound_share_a_budget) {
  LineBudget budget;
  std::size_t printed = 0;
  for (std::uint64_t id = 1; id <= 2 * LineBudget::kMaxCgroups; ++id) printed += budget.take({id}, false, at_s(1));
  EXPECT_EQ(printed, LineBudget::kMaxCgroups + LineBudget::kLines);
}

}  // namespace
}  // namespace oomw::cli
