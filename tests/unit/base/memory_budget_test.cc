// SPDX-License-Identifier: Apache-2.0
#include "base/memory_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace oomw {
namespace {

using std::chrono::seconds;

TEST(MemoryBudgetTest, what_does_not_fit_is_refused_until_something_is_given_back) {
  MemoryBudget budget(100);
  auto first = budget.try_take(70);
  ASSERT_TRUE(first.has_value());
  EXPECT_FALSE(budget.try_take(31).has_value());
  EXPECT_EQ(budget.taken(), 70u);
  first.reset();
  EXPECT_TRUE(budget.try_take(100).has_value());
  EXPECT_EQ(budget.taken(), 0u);
}

TEST(MemoryBudgetTest, what_is_left_for_others_is_not_taken) {
  MemoryBudget budget(100);
  const auto first = budget.try_take(50, 40);
  EXPECT_TRUE(first.has_value());
  EXPECT_FALSE(budget.try_take(11, 40).has_value());
  EXPECT_TRUE(budget.try_take(10, 40).has_value());
  EXPECT_FALSE(budget.try_take(1, 200).has_value());
}

TEST(MemoryBudgetTest, more_than_all_of_it_waits_to_be_alone) {
  MemoryBudget budget(100);
  auto small = budget.try_take(1);
  EXPECT_FALSE(budget.take(1'000, Nanoseconds(0)).has_value());
  small.reset();
  const auto large = budget.take(1'000, Nanoseconds(0));
  EXPECT_TRUE(large.has_value());
  EXPECT_EQ(budget.taken(), 100u);
}

TEST(MemoryBudgetTest, waits_until_another_thread_gives_back) {
  MemoryBudget budget(100);
  auto held = budget.try_take(100);
  std::thread other([&] { held.reset(); });
  EXPECT_TRUE(budget.take(100, seconds(60)).has_value());
  other.join();
}

TEST(MemoryBudgetTest, given_back_early_counts_once) {
  MemoryBudget budget(100);
  {
    auto lease = budget.try_take(60);
    lease->give_back();
    EXPECT_EQ(budget.taken(), 0u);
  }
  EXPECT_EQ(budget.taken(), 0u);
}

TEST(MemoryBudgetTest, many_threads_never_hold_more_than_all) {
  MemoryBudget budget(100);
  std::atomic<int> done = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int n = 0; n < 200; ++n) {
        const auto lease = budget.take(static_cast<std::uint64_t>(10 + 10 * i), seconds(60));
        done += lease.has_value() ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, 8 * 200);
  EXPECT_LE(budget.peak(), 100u);
  EXPECT_EQ(budget.taken(), 0u);
}

}  // namespace
}  // namespace oomw
