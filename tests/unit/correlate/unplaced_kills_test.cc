// SPDX-License-Identifier: Apache-2.0
#include "correlate/unplaced_kills.h"

#include <gtest/gtest.h>

#include "unit/model/event_builders.h"

namespace oomw::test {
namespace {

OomKill told(std::int32_t pid, std::int64_t ms) { return killed(pid, 0, 0, 0, ms); }

UnobservedKills counted(std::uint64_t kills, std::int64_t after_ms, std::int64_t until_ms) {
  return {CgroupId{2}, kills, at_ms(after_ms), at_ms(until_ms)};
}

class UnplacedKillsTest : public ::testing::Test {
 protected:
  void add(OomKill kill) { EXPECT_FALSE(kills_.add(std::move(kill)).has_value()); }
  UnplacedKills kills_;
};

TEST_F(UnplacedKillsTest, the_only_one_that_waits_is_what_a_rise_of_one_counted) {
  add(told(10, 5000));
  const auto match = kills_.take_for(counted(1, 4000, 5010));
  ASSERT_TRUE(match.kill.has_value());
  EXPECT_EQ(match.kill->victim.pid, 10);
  EXPECT_TRUE(kills_.take_all().empty());
}

TEST_F(UnplacedKillsTest, one_of_another_time_is_not_taken) {
  add(told(10, 1000));
  EXPECT_FALSE(kills_.take_for(counted(1, 4000, 5000)).kill.has_value());
  add(told(11, 9000));
  EXPECT_FALSE(kills_.take_for(counted(1, 4000, 5000)).kill.has_value());
  EXPECT_EQ(kills_.take_all().size(), 2u);
}

TEST_F(UnplacedKillsTest, of_two_neither_is_taken_for_a_rise_then_or_later) {
  add(told(10, 5000));
  add(told(11, 5001));
  const auto first = kills_.take_for(counted(1, 4000, 5010));
  EXPECT_FALSE(first.kill.has_value());
  EXPECT_EQ(first.any_of.size(), 2u);
  const auto second = kills_.take_for(counted(1, 4000, 5020));
  EXPECT_FALSE(second.kill.has_value()) << "the one that is left is only one of two";
  EXPECT_EQ(second.any_of.size(), 1u);
  EXPECT_TRUE(kills_.take_all().empty()) << "two were counted, two were told";
}

TEST_F(UnplacedKillsTest, a_rise_of_two_names_nobody) {
  add(told(10, 5000));
  const auto match = kills_.take_for(counted(2, 4000, 5010));
  EXPECT_FALSE(match.kill.has_value());
  EXPECT_EQ(match.any_of.size(), 1u);
}

TEST_F(UnplacedKillsTest, one_of_two_rises_names_nobody) {
  add(told(10, 5000));
  const auto match = kills_.take_for(counted(1, 4000, 5010), false);
  EXPECT_FALSE(match.kill.has_value());
  EXPECT_EQ(match.any_of.size(), 1u);
}

TEST_F(UnplacedKillsTest, more_than_fit_push_out_the_oldest) {
  for (std::size_t i = 0; i < UnplacedKills::kMax; ++i) add(told(static_cast<std::int32_t>(i), 5000));
  const auto pushed_out = kills_.add(told(1000, 5000));
  ASSERT_TRUE(pushed_out.has_value());
  EXPECT_EQ(pushed_out->victim.pid, 0);
  EXPECT_EQ(kills_.take_all().size(), UnplacedKills::kMax);
}

TEST_F(UnplacedKillsTest, the_old_are_given_up) {
  add(told(10, 5000));
  add(told(11, 6000));
  EXPECT_EQ(kills_.take_older_than(at_ms(5500)).size(), 1u);
  EXPECT_EQ(kills_.take_all().size(), 1u);
}

}  // namespace
}  // namespace oomw::test
