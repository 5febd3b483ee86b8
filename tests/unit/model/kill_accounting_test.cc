// SPDX-License-Identifier: Apache-2.0
#include "model/kill_accounting.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr CgroupId kCgroup{42};

MemorySampled sample(std::uint64_t kernel_kills, Nanoseconds at) {
  MemorySampled s;
  s.cgroup = kCgroup;
  s.time = MonotonicTime{} + at;
  s.kernel_oom_kills = kernel_kills;
  return s;
}

constexpr MonotonicTime kStart{1'000};

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(KillAccountingTest, a_kill_whose_event_still_lies_in_the_ring_is_not_unobserved) {
  KillAccounting accounting(std::nullopt);
  accounting.on_created(kCgroup);
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(1)), MonotonicTime{} + seconds(1)), 0u);
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(9)), MonotonicTime{} + seconds(1)), 0u);
  accounting.on_kill_seen(kCgroup, kStart);
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(20)), MonotonicTime{} + seconds(20)), 0u);
  EXPECT_EQ(accounting.unobserved(), 0u);
}

TEST(KillAccountingTest, first_run_when_kernel_counted_before_us_counts_nothing) {
  KillAccounting accounting(std::nullopt);
  EXPECT_EQ(accounting.on_sample(sample(7, seconds(1))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(7, seconds(9))), 0u);
}

TEST(KillAccountingTest, seen_kill_balances_the_kernels_count) {
  KillAccounting accounting(std::nullopt);
  accounting.on_created(kCgroup);
  accounting.on_kill_seen(kCgroup, kStart);
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(1))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(9))), 0u);
  EXPECT_EQ(accounting.unobserved(), 0u);
}

TEST(KillAccountingTest, kernel_ahead_within_grace_is_not_yet_a_loss) {
  KillAccounting accounting(std::nullopt);
  accounting.on_created(kCgroup);
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(1))), 0u);
  accounting.on_kill_seen(kCgroup, kStart);
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(5))), 0u);
}

TEST(KillAccountingTest, unseen_kill_counts_once_after_grace) {
  KillAccounting accounting(std::nullopt);
  accounting.on_created(kCgroup);
  EXPECT_EQ(accounting.on_sample(sample(2, seconds(1))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(2, seconds(2))), 2u);
  EXPECT_EQ(accounting.on_sample(sample(2, seconds(3))), 0u);
  EXPECT_EQ(accounting.unobserved(), 2u);
}

TEST(KillAccountingTest, unseen_kill_counts_when_the_cgroup_goes) {
  KillAccounting accounting(std::nullopt);
  accounting.on_created(kCgroup);
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(1))), 0u);
  EXPECT_EQ(accounting.on_removed(kCgroup), 1u);
  EXPECT_EQ(accounting.on_removed(kCgroup), 0u);
}

TEST(KillAccountingTest, restart_counts_what_happened_meanwhile) {
  KillAccounting accounting(std::map<std::uint64_t, std::uint64_t>{{kCgroup.value, 1}});
  EXPECT_EQ(accounting.on_sample(sample(3, seconds(1))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(3, seconds(1) + milliseconds(600))), 2u);
}

TEST(KillAccountingTest, cgroup_born_while_down_counts_all_its_kills) {
  KillAccounting accounting(std::map<std::uint64_t, std::uint64_t>{});
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(1))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(2))), 1u);
}

TEST(KillAccountingTest, accounted_carries_over_to_the_next_run) {
  KillAccounting accounting(std::nullopt);
  accounting.on_created(kCgroup);
  accounting.on_kill_seen(kCgroup, kStart);
  KillAccounting next(accounting.accounted());
  EXPECT_EQ(next.on_sample(sample(1, seconds(1))), 0u);
  EXPECT_EQ(next.on_sample(sample(1, seconds(3))), 0u);
}

TEST(KillAccountingTest, kill_seen_before_the_first_reading_of_an_old_cgroup_makes_no_loss_of_its_past) {
  KillAccounting accounting(std::nullopt);
  accounting.on_kill_seen(kCgroup, kStart);
  EXPECT_EQ(accounting.on_sample(sample(7, seconds(1))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(7, seconds(3))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(8, seconds(4))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(8, seconds(5))), 1u);
}

TEST(KillAccountingTest, group_kill_whose_first_victim_the_kernel_counts_twice_is_no_loss) {
  KillAccounting accounting(std::nullopt);
  accounting.on_created(kCgroup);
  for (int victim = 0; victim < 3; ++victim) accounting.on_kill_seen(kCgroup, kStart);
  accounting.allow_second_count(kCgroup);
  EXPECT_EQ(accounting.on_sample(sample(4, seconds(1))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(4, seconds(3))), 0u);
  EXPECT_EQ(accounting.unobserved(), 0u);
}

TEST(KillAccountingTest, second_count_that_never_came_hides_no_later_loss) {
  KillAccounting accounting(std::nullopt);
  accounting.on_created(kCgroup);
  accounting.on_kill_seen(kCgroup, kStart);
  accounting.allow_second_count(kCgroup);
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(1))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(2, seconds(5))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(2, seconds(6))), 1u);
}

TEST(KillAccountingTest, two_unseen_of_a_group_kill_are_one_loss_beside_the_second_count) {
  KillAccounting accounting(std::nullopt);
  accounting.on_created(kCgroup);
  accounting.on_kill_seen(kCgroup, kStart);
  accounting.allow_second_count(kCgroup);
  EXPECT_EQ(accounting.on_sample(sample(3, seconds(1))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(3, seconds(2))), 1u);
}

TEST(KillAccountingTest, mark_that_the_kernel_did_not_count_hides_no_later_loss) {
  KillAccounting accounting(std::nullopt);
  accounting.on_created(kCgroup);
  accounting.on_kill_seen(kCgroup, kStart);  // was dying already
  EXPECT_EQ(accounting.on_sample(sample(0, seconds(1))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(5))), 0u);
  EXPECT_EQ(accounting.on_sample(sample(1, seconds(6))), 1u);
}

TEST(KillAccountingTest, second_count_is_carried_over_to_the_next_run) {
  KillAccounting accounting(std::nullopt);
  accounting.on_created(kCgroup);
  accounting.on_kill_seen(kCgroup, MonotonicTime{} + milliseconds(900));
  accounting.allow_second_count(kCgroup);
  EXPECT_EQ(accounting.on_sample(sample(2, seconds(1))), 0u);
  KillAccounting next(accounting.accounted());
  EXPECT_EQ(next.on_sample(sample(2, seconds(2))), 0u);
  EXPECT_EQ(next.on_sample(sample(2, seconds(4))), 0u);
}

}  // namespace
}  // namespace oomw
