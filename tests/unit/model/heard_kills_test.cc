// SPDX-License-Identifier: Apache-2.0
#include "model/heard_kills.h"

#include <gtest/gtest.h>

#include "unit/base/set_clock.h"

namespace oomw {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::at;

const HeardUntil kHeard{at(seconds(100)), {{7, at(seconds(99)), true}, {8, at(seconds(99)), false}}};

KillStanding standing(std::int32_t pid, Nanoseconds t) { return standing_of(pid, at(t), kHeard, seconds(2)); }

TEST(KillStandingTest, long_before_it_was_heard_of) { EXPECT_EQ(standing(9, seconds(50)), KillStanding::kDone); }

TEST(KillStandingTest, afterwards_it_is_new) { EXPECT_EQ(standing(9, seconds(103)), KillStanding::kNew); }

TEST(KillStandingTest, a_moment_before_only_those_listed_were_heard_of) {
  EXPECT_EQ(standing(7, seconds(98)), KillStanding::kDone);
  EXPECT_EQ(standing(8, seconds(98)), KillStanding::kCounted);
  EXPECT_EQ(standing(9, seconds(99)), KillStanding::kNew);
}

TEST(KillStandingTest, a_listed_pid_that_came_round_is_another_kill) {
  EXPECT_EQ(standing(7, seconds(200)), KillStanding::kNew);
}

TEST(KillStandingTest, after_a_reboot_all_is_new) {
  EXPECT_EQ(standing_of(7, at(seconds(5)), HeardUntil{}, seconds(2)), KillStanding::kNew);
}

TEST(KillStandingTest, slack_grows_with_the_time_that_the_clocks_had_to_drift) {
  EXPECT_EQ(slack_of(at(seconds(10)), at(seconds(10))), seconds(2));
  EXPECT_GT(slack_of(at(seconds(0)), at(hours(24))), seconds(10));
}

TEST(HeardKillsTest, keeps_the_last_seconds_and_what_is_not_written) {
  HeardKills kills;
  kills.add({1, at(seconds(10)), false});
  kills.add({2, at(seconds(20)), false});
  kills.add({3, at(seconds(99)), false});
  kills.on_written({1, 3}, true, at(seconds(5)), at(seconds(100)));
  const auto recent = kills.recent(at(seconds(100)));
  ASSERT_EQ(recent.size(), 2u);
  EXPECT_EQ(recent[0].pid, 2);
  EXPECT_FALSE(recent[0].is_written);
  EXPECT_EQ(recent[1].pid, 3);
  EXPECT_TRUE(recent[1].is_written);
}

TEST(HeardKillsTest, an_incident_of_another_time_says_nothing_of_the_same_pid) {
  HeardKills kills;
  kills.add({1, at(seconds(10)), false});
  kills.on_written({1}, true, at(seconds(60)), at(seconds(100)));
  EXPECT_FALSE(kills.recent(at(seconds(100))).front().is_written);
}

TEST(HeardKillsTest, an_incident_that_does_not_list_all_its_victims_is_that_of_all) {
  HeardKills kills;
  kills.add({1, at(seconds(10)), false});
  kills.add({2, at(seconds(10)), false});
  kills.on_written({1}, false, at(seconds(5)), at(seconds(15)));
  EXPECT_TRUE(kills.recent(at(seconds(1000))).empty());
}

TEST(HeardKillsTest, what_the_run_before_listed_is_listed_on) {
  HeardKills kills;
  kills.restore({{1, at(seconds(98)), true}, {2, at(seconds(98)), false}});
  kills.add({2, at(seconds(99)), true});
  const auto recent = kills.recent(at(seconds(100)));
  ASSERT_EQ(recent.size(), 2u);
  EXPECT_EQ(recent[0].pid, 1);
  EXPECT_EQ(recent[1].pid, 2);
  EXPECT_TRUE(recent[1].is_written);
}

TEST(HeardKillsTest, is_bounded_and_forgets_the_oldest) {
  HeardKills kills;
  for (std::size_t i = 0; i <= HeardKills::kMax; ++i)
    kills.add({static_cast<std::int32_t>(i + 1), at(milliseconds(i)), false});
  const auto recent = kills.recent(at(seconds(100)));
  EXPECT_EQ(recent.size(), HeardKills::kMax);
  EXPECT_EQ(recent.front().pid, 2);
}

}  // namespace
}  // namespace oomw
