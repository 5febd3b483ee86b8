// SPDX-License-Identifier: Apache-2.0
#include "model/kill_accounting.h"

#include <gtest/gtest.h>

#include "unit/base/set_clock.h"

namespace oomw {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::at;

constexpr CgroupId kCountedCgroup{42};
constexpr MonotonicTime kCreatedAt{1'000};

MemorySampled sample(std::uint64_t kernel_kills, Nanoseconds t) {
  MemorySampled s;
  s.cgroup = kCountedCgroup;
  s.time = at(t);
  s.kernel_oom_kills = kernel_kills;
  return s;
}

// One cgroup, and what the kernel says of it.
class KillAccountingTest : public ::testing::Test {
 protected:
  void created() { accounting_.on_created(kCountedCgroup, kCreatedAt); }
  void seen(Nanoseconds t = seconds(1)) { accounting_.on_kill_seen(kCountedCgroup, at(t)); }
  std::uint64_t read(std::uint64_t kernel_kills, Nanoseconds t) {
    return accounting_.on_sample(sample(kernel_kills, t)).kills;
  }
  // How many were unseen, once the grace is over.
  std::uint64_t unseen_of(std::uint64_t kernel_kills, Nanoseconds from) {
    EXPECT_EQ(read(kernel_kills, from), 0u) << "before the grace is over";
    return read(kernel_kills, from + seconds(1));
  }

  KillAccounting accounting_{std::nullopt};
};

TEST_F(KillAccountingTest, a_kill_whose_event_still_lies_in_the_ring_is_not_unobserved) {
  created();
  EXPECT_EQ(accounting_.on_sample(sample(1, seconds(1)), at(seconds(1))).kills, 0u);
  EXPECT_EQ(accounting_.on_sample(sample(1, seconds(9)), at(seconds(1))).kills, 0u);
  EXPECT_TRUE(accounting_.take_overdue(at(seconds(9)), at(seconds(1))).empty());
  seen();
  EXPECT_EQ(accounting_.on_sample(sample(1, seconds(20)), at(seconds(20))).kills, 0u);
}

TEST_F(KillAccountingTest, first_run_when_kernel_counted_before_us_counts_nothing) {
  EXPECT_EQ(unseen_of(7, seconds(1)), 0u);
}

TEST_F(KillAccountingTest, seen_kill_balances_the_kernels_count) {
  created();
  seen();
  EXPECT_EQ(unseen_of(1, seconds(1)), 0u);
}

TEST_F(KillAccountingTest, kernel_ahead_within_grace_is_not_yet_a_loss) {
  created();
  EXPECT_EQ(read(1, seconds(1)), 0u);
  seen();
  EXPECT_EQ(read(1, seconds(5)), 0u);
  EXPECT_TRUE(accounting_.take_overdue(at(seconds(9))).empty());
}

TEST_F(KillAccountingTest, unseen_kill_counts_once_after_grace) {
  created();
  EXPECT_EQ(unseen_of(2, seconds(1)), 2u);
  EXPECT_EQ(unseen_of(2, seconds(3)), 0u);
}

TEST_F(KillAccountingTest, unseen_kill_is_overdue_without_a_newer_sample) {
  created();
  EXPECT_EQ(read(1, seconds(1)), 0u);
  EXPECT_TRUE(accounting_.take_overdue(at(seconds(1) + milliseconds(499))).empty());
  const auto overdue = accounting_.take_overdue(at(seconds(1) + milliseconds(500)));
  ASSERT_EQ(overdue.size(), 1u);
  EXPECT_EQ(overdue[0].cgroup, kCountedCgroup);
  EXPECT_EQ(overdue[0].kills, 1u);
  EXPECT_TRUE(accounting_.take_overdue(at(seconds(9))).empty());
}

TEST_F(KillAccountingTest, unseen_kill_lies_between_the_two_readings_of_the_count) {
  EXPECT_EQ(read(4, seconds(1)), 0u);
  EXPECT_EQ(read(4, seconds(3)), 0u);
  EXPECT_EQ(read(5, seconds(7)), 0u);
  const UnobservedKills unseen = accounting_.on_sample(sample(5, seconds(9)));
  EXPECT_EQ(unseen.after, at(seconds(3)));
  EXPECT_EQ(unseen.until, at(seconds(7)));
  EXPECT_EQ(read(6, seconds(20)), 0u);
  const UnobservedKills next = accounting_.on_sample(sample(6, seconds(21)));
  EXPECT_EQ(next.after, at(seconds(7)));
  EXPECT_EQ(next.until, at(seconds(20)));
}

TEST_F(KillAccountingTest, unseen_kill_of_a_cgroup_that_appeared_came_after_that) {
  created();
  EXPECT_EQ(read(1, seconds(1)), 0u);
  EXPECT_EQ(accounting_.on_sample(sample(1, seconds(2))).after, kCreatedAt);
}

TEST_F(KillAccountingTest, unseen_kill_counts_when_the_cgroup_goes) {
  created();
  EXPECT_EQ(read(1, seconds(1)), 0u);
  const UnobservedKills unseen = accounting_.on_removed(kCountedCgroup, at(seconds(2)));
  EXPECT_EQ(unseen.kills, 1u);
  EXPECT_EQ(unseen.until, at(seconds(1)));
  EXPECT_EQ(accounting_.on_removed(kCountedCgroup, at(seconds(3))).kills, 0u);
  EXPECT_TRUE(accounting_.take_overdue(at(seconds(9))).empty());
}

TEST_F(KillAccountingTest, restart_counts_what_happened_meanwhile_but_not_when) {
  accounting_ = KillAccounting(std::map<std::uint64_t, std::uint64_t>{{kCountedCgroup.value, 1}});
  EXPECT_EQ(read(3, seconds(1)), 0u);
  const UnobservedKills unseen = accounting_.on_sample(sample(3, seconds(1) + milliseconds(600)));
  EXPECT_EQ(unseen.kills, 2u);
  EXPECT_FALSE(unseen.after.has_value());
}

TEST_F(KillAccountingTest, cgroup_born_while_down_counts_all_its_kills) {
  accounting_ = KillAccounting(std::map<std::uint64_t, std::uint64_t>{});
  EXPECT_EQ(unseen_of(1, seconds(1)), 1u);
}

TEST_F(KillAccountingTest, accounted_carries_over_to_the_next_run) {
  created();
  seen();
  accounting_ = KillAccounting(accounting_.accounted());
  EXPECT_EQ(unseen_of(1, seconds(1)), 0u);
}

TEST_F(KillAccountingTest, kill_seen_before_the_first_reading_of_an_old_cgroup_makes_no_loss_of_its_past) {
  seen(Nanoseconds(1'000));
  EXPECT_EQ(unseen_of(7, seconds(1)), 0u);
  EXPECT_EQ(unseen_of(8, seconds(4)), 1u);
}

TEST_F(KillAccountingTest, group_kill_whose_first_victim_the_kernel_counts_twice_is_no_loss) {
  created();
  for (int victim = 0; victim < 3; ++victim) seen();
  accounting_.allow_second_count(kCountedCgroup);
  EXPECT_EQ(unseen_of(4, seconds(1)), 0u);
}

TEST_F(KillAccountingTest, second_count_that_never_came_hides_no_later_loss) {
  created();
  seen(Nanoseconds(1'000));
  accounting_.allow_second_count(kCountedCgroup);
  EXPECT_EQ(read(1, seconds(1)), 0u);
  EXPECT_EQ(unseen_of(2, seconds(5)), 1u);
}

TEST_F(KillAccountingTest, two_unseen_of_a_group_kill_are_one_loss_beside_the_second_count) {
  created();
  seen();
  accounting_.allow_second_count(kCountedCgroup);
  EXPECT_EQ(unseen_of(3, seconds(1)), 1u);
}

TEST_F(KillAccountingTest, mark_that_the_kernel_did_not_count_hides_no_later_loss) {
  created();
  seen(Nanoseconds(1'000));  // was dying already
  EXPECT_EQ(read(0, seconds(1)), 0u);
  EXPECT_EQ(unseen_of(1, seconds(5)), 1u);
}

TEST_F(KillAccountingTest, second_count_is_carried_over_to_the_next_run) {
  created();
  seen(milliseconds(900));
  accounting_.allow_second_count(kCountedCgroup);
  EXPECT_EQ(read(2, seconds(1)), 0u);
  accounting_ = KillAccounting(accounting_.accounted());
  EXPECT_EQ(unseen_of(2, seconds(2)), 0u);
}

}  // namespace
}  // namespace oomw
