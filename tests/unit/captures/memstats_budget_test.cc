// SPDX-License-Identifier: Apache-2.0
#include "captures/memstats_budget.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr MonotonicTime kStart{1'000'000'000};

int taken_of(MemStatsBudget& budget, int asked, MonotonicTime now) {
  int taken = 0;
  for (int i = 0; i < asked; ++i) taken += budget.take(now);
  return taken;
}

TEST(MemStatsBudget, of_a_thousand_at_once_the_first_few_are_asked_and_the_others_counted) {
  MemStatsBudget budget;
  EXPECT_EQ(taken_of(budget, 1000, kStart), MemStatsBudget::kAtOnce);
  EXPECT_EQ(budget.left_out(), 1000u - MemStatsBudget::kAtOnce);
}

TEST(MemStatsBudget, what_was_taken_comes_back_one_by_one) {
  MemStatsBudget budget;
  ASSERT_EQ(taken_of(budget, MemStatsBudget::kAtOnce, kStart), MemStatsBudget::kAtOnce);
  EXPECT_EQ(taken_of(budget, 5, kStart + MemStatsBudget::kRefill - Nanoseconds(1)), 0);
  EXPECT_EQ(taken_of(budget, 5, kStart + MemStatsBudget::kRefill), 1);
  EXPECT_EQ(taken_of(budget, 5, kStart + 3 * MemStatsBudget::kRefill), 2);
}

TEST(MemStatsBudget, rest_saves_up_no_more_than_a_burst) {
  MemStatsBudget budget;
  EXPECT_TRUE(budget.take(kStart));
  EXPECT_EQ(taken_of(budget, 1000, kStart + std::chrono::hours(24)), MemStatsBudget::kAtOnce);
}

TEST(MemStatsBudget, one_each_refill_is_never_left_out) {
  MemStatsBudget budget;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(budget.take(kStart + i * MemStatsBudget::kRefill));
  EXPECT_EQ(budget.left_out(), 0u);
}

}  // namespace
}  // namespace oomw
