// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_rest.h"

#include <string>

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

const ShareOwner kOwn{"mine", ""}, kOther{"other", ""};

class GrowthRestTest : public ::testing::Test {
 protected:
  // How long of `time` the program was attached.
  Nanoseconds attached_of(Nanoseconds time, const std::set<ShareOwner>& climbing) {
    Nanoseconds attached{0};
    for (Nanoseconds end = time; end > Nanoseconds(0); end -= kTurn) {
      if (is_attached_) attached += kTurn;
      now_ = now_ + kTurn;
      is_attached_ = rest_.decide(now_, is_attached_, climbing);
    }
    return attached;
  }

  static constexpr Nanoseconds kTurn = milliseconds(200);
  GrowthRest rest_;
  MonotonicTime now_{1};
  bool is_attached_ = false;
};

TEST_F(GrowthRestTest, first_climb_attaches_at_once) { EXPECT_TRUE(rest_.decide(now_, false, {kOwn})); }

TEST_F(GrowthRestTest, nothing_that_climbs_lets_it_rest) {
  attached_of(seconds(10), {kOwn});
  EXPECT_TRUE(is_attached_);
  EXPECT_LE(attached_of(hours(1), {}), GrowthRest::kHold);
  EXPECT_FALSE(is_attached_);
}

TEST_F(GrowthRestTest, climb_of_25_seconds_is_attached_whole) {
  EXPECT_GE(attached_of(seconds(25), {kOwn}), seconds(24));
}

// Of 5 % a page fault, this is 2 %.
TEST_F(GrowthRestTest, two_minutes_of_climbing_are_attached_less_than_half_of_the_time) {
  EXPECT_LE(attached_of(seconds(120), {kOwn}), seconds(50));
}

TEST_F(GrowthRestTest, hours_of_climbing_are_attached_a_quarter_of_the_time) {
  const Nanoseconds attached = attached_of(hours(4), {kOwn});
  EXPECT_LE(attached, hours(1) + GrowthRest::kBurst + AttachedTime::kLeast);
  EXPECT_GE(attached, seconds(50 * 60));
}

TEST_F(GrowthRestTest, rest_fills_the_budget_again) {
  attached_of(hours(1), {kOwn});
  attached_of(seconds(300), {});
  EXPECT_GE(attached_of(seconds(25), {kOwn}), seconds(24));
}

TEST_F(GrowthRestTest, one_that_climbs_for_ever_leaves_another_its_whole_climb) {
  attached_of(hours(1), {kOther});
  EXPECT_GE(attached_of(seconds(25), {kOther, kOwn}), seconds(24));
  attached_of(hours(1), {kOther});
  EXPECT_GE(attached_of(seconds(25), {kOwn}), seconds(24));
}

TEST_F(GrowthRestTest, two_that_climb_together_take_no_more_than_one) {
  EXPECT_LE(attached_of(hours(4), {kOwn, kOther}), hours(1) + GrowthRest::kBurst + AttachedTime::kLeast);
}

// A container that is started anew has a new name, and a burst of its own.
TEST_F(GrowthRestTest, ever_new_ones_are_attached_a_third_of_the_time) {
  Nanoseconds attached{0};
  for (int i = 0; i < 400; ++i) attached += attached_of(seconds(30), {{std::to_string(i), ""}});
  EXPECT_LE(attached, seconds(400 * 30) / 3 + 3 * GrowthRest::kBurst + AttachedTime::kLeast);
  EXPECT_GE(attached, seconds(400 * 30) / 4);
}

TEST_F(GrowthRestTest, namespace_whose_containers_climb_in_turns_leaves_another_its_whole_climb) {
  for (int i = 0; i < 400; ++i) attached_of(seconds(10), {{std::to_string(i % 3), "shop"}});
  EXPECT_GE(attached_of(seconds(25), {{"mine", "bank"}}), seconds(24));
}

// The sampler's thread waits for its reader meanwhile.
TEST_F(GrowthRestTest, time_is_paid_also_if_it_is_decided_late) {
  Nanoseconds attached{0};
  for (int i = 0; i < 400; ++i) {
    if (is_attached_) attached += seconds(8);
    now_ = now_ + seconds(8);
    is_attached_ = rest_.decide(now_, is_attached_, {kOwn});
  }
  EXPECT_LE(attached, seconds(400 * 8) / 4 + 2 * GrowthRest::kBurst);
}

TEST_F(GrowthRestTest, those_beyond_the_most_that_are_known_are_attached_too) {
  std::set<ShareOwner> all;
  for (std::size_t i = 0; i < GrowthRest::kMaxOwners; ++i) all.insert({std::to_string(i), ""});
  attached_of(seconds(60), all);
  attached_of(seconds(5), {});
  EXPECT_GT(attached_of(seconds(25), {{"one more", ""}}), seconds(5));
}

}  // namespace
}  // namespace oomw
