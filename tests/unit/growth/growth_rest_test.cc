// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_rest.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint64_t kMiB = 1u << 20;

TEST(GrowthClimbTest, rise_above_the_most_that_there_was_is_a_climb) {
  GrowthClimb climb;
  EXPECT_FALSE(climb.climbs(100 * kMiB));
  EXPECT_TRUE(climb.climbs(101 * kMiB));
  EXPECT_FALSE(climb.climbs(101 * kMiB));
}

TEST(GrowthClimbTest, memory_that_comes_and_goes_is_no_climb) {
  GrowthClimb climb;
  climb.climbs(100 * kMiB);
  climb.climbs(140 * kMiB);
  for (int round = 0; round < 8; ++round) {
    EXPECT_FALSE(climb.climbs(100 * kMiB));
    EXPECT_FALSE(climb.climbs(140 * kMiB));
  }
}

TEST(GrowthClimbTest, slow_rise_is_a_climb_once_it_is_a_step) {
  GrowthClimb climb;
  int climbs = 0;
  for (std::uint64_t at = 0; at <= 8 * kMiB; at += 4096) climbs += climb.climbs(100 * kMiB + at) ? 1 : 0;
  EXPECT_EQ(climbs, 16);
}

class GrowthRestTest : public ::testing::Test {
 protected:
  // How long of `time` the program was attached.
  Nanoseconds attached_of(Nanoseconds time, bool is_climbing) {
    Nanoseconds attached{0};
    for (Nanoseconds end = time; end > Nanoseconds(0); end -= kTurn) {
      if (is_attached_) attached += kTurn;
      now_ = now_ + kTurn;
      is_attached_ = rest_.decide(now_, is_attached_, is_climbing);
    }
    return attached;
  }

  static constexpr Nanoseconds kTurn = milliseconds(200);
  GrowthRest rest_;
  MonotonicTime now_{1};
  bool is_attached_ = false;
};

TEST_F(GrowthRestTest, first_climb_attaches_at_once) { EXPECT_TRUE(rest_.decide(now_, false, true)); }

TEST_F(GrowthRestTest, nothing_that_climbs_lets_it_rest) {
  attached_of(seconds(10), true);
  EXPECT_TRUE(is_attached_);
  EXPECT_LE(attached_of(hours(1), false), GrowthRest::kHold);
  EXPECT_FALSE(is_attached_);
}

TEST_F(GrowthRestTest, climb_of_25_seconds_is_attached_whole) {
  EXPECT_GE(attached_of(seconds(25), true), seconds(24));
}

// Of 5 % a page fault, this is 2 %.
TEST_F(GrowthRestTest, two_minutes_of_climbing_are_attached_less_than_half_of_the_time) {
  EXPECT_LE(attached_of(seconds(120), true), seconds(50));
}

TEST_F(GrowthRestTest, hours_of_climbing_are_attached_a_quarter_of_the_time) {
  const Nanoseconds attached = attached_of(hours(4), true);
  EXPECT_LE(attached, hours(1) + GrowthRest::kBurst + GrowthRest::kLeast);
  EXPECT_GE(attached, seconds(50 * 60));
}

TEST_F(GrowthRestTest, rest_fills_the_budget_again) {
  attached_of(hours(1), true);
  attached_of(seconds(300), false);
  EXPECT_GE(attached_of(seconds(25), true), seconds(24));
}

}  // namespace
}  // namespace oomw
