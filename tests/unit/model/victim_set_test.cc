// SPDX-License-Identifier: Apache-2.0
#include "model/victim_set.h"

#include <gtest/gtest.h>

#include "unit/model/event_builders.h"

namespace oomw {
namespace {

using test::at_ms;

TEST(VictimSetTest, add_when_the_same_process_is_marked_again_is_not_new) {
  VictimSet victims;
  EXPECT_TRUE(victims.add({10, 5}, at_ms(0)));
  EXPECT_FALSE(victims.add({10, 5}, at_ms(500'000)));
}

TEST(VictimSetTest, add_when_the_pid_was_reused_is_new) {
  VictimSet victims;
  EXPECT_TRUE(victims.add({10, 5}, at_ms(0)));
  EXPECT_TRUE(victims.add({10, 9}, at_ms(100)));
}

TEST(VictimSetTest, add_when_only_the_pid_is_told_matches_any_start) {
  VictimSet victims;
  EXPECT_TRUE(victims.add({10, 5}, at_ms(0)));
  EXPECT_FALSE(victims.add({10, 0}, at_ms(3)));
  EXPECT_TRUE(victims.add({11, 0}, at_ms(0)));
  EXPECT_FALSE(victims.add({11, 7}, at_ms(3)));
}

TEST(VictimSetTest, add_when_only_the_pid_is_told_much_later_is_new) {
  VictimSet victims;
  EXPECT_TRUE(victims.add({10, 0}, at_ms(0)));
  EXPECT_TRUE(victims.add({10, 0}, at_ms(61'000)));
}

TEST(VictimSetTest, add_when_old_entries_expired_frees_them) {
  VictimSet victims;
  for (std::int32_t pid = 1; pid <= 100; ++pid) victims.add({pid, 1}, at_ms(0));
  victims.add({1000, 1}, at_ms(11 * 60'000));
  EXPECT_EQ(victims.size(), 1u);
}

TEST(VictimSetTest, add_when_flooded_stays_bounded) {
  VictimSet victims;
  for (std::uint64_t i = 1; i <= VictimSet::kMax + 1000; ++i) {
    victims.add({static_cast<std::int32_t>(i), i}, at_ms(0));
  }
  EXPECT_LE(victims.size(), VictimSet::kMax);
}

TEST(VictimSetTest, a_kill_hours_before_is_another_one_though_it_has_the_pid) {
  VictimSet set;
  const MonotonicTime now{std::chrono::nanoseconds(std::chrono::hours(10)).count()};
  EXPECT_TRUE(set.add({5, 77}, now));
  EXPECT_TRUE(set.add({5, 0}, now - std::chrono::hours(9)));
  EXPECT_FALSE(set.add({5, 0}, now - std::chrono::hours(9) + std::chrono::seconds(1)));
  EXPECT_FALSE(set.add({5, 77}, now + std::chrono::seconds(1)));
}

}  // namespace
}  // namespace oomw
