// SPDX-License-Identifier: Apache-2.0
#include "growth/growth_shares.h"

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace oomw {
namespace {

using std::chrono::seconds;

const ShareOwner kCrowd{"crowd", ""}, kMine{"mine", ""}, kNew{"new", ""};

class GrowthPlacesTest : public ::testing::Test {
 protected:
  // Of a process that climbed `ago`.
  void add(const ShareOwner& owner, Nanoseconds ago) {
    places_.push_back({{static_cast<std::int32_t>(places_.size()), 1}, &owner, now_ - ago});
  }
  [[nodiscard]] std::optional<std::int32_t> given_to(const ShareOwner& newcomer) const {
    const auto loser = GrowthShares::who_gives(places_, newcomer, now_);
    return loser.process ? std::optional(loser.process->pid) : std::nullopt;
  }
  [[nodiscard]] bool is_over_share(const ShareOwner& newcomer) const {
    return GrowthShares::who_gives(places_, newcomer, now_).is_over_share;
  }

  const MonotonicTime now_{3'600'000'000'000};
  std::vector<GrowthShares::Place> places_;
};

TEST_F(GrowthPlacesTest, crowd_gives_the_place_of_the_one_that_climbed_least_lately) {
  add(kMine, seconds(60));
  add(kCrowd, seconds(0));
  add(kCrowd, seconds(9));
  add(kCrowd, seconds(1));
  EXPECT_EQ(given_to(kNew), 2);
  EXPECT_EQ(given_to(kMine), 2);
}

TEST_F(GrowthPlacesTest, crowd_that_wants_more_gives_only_what_idles) {
  add(kMine, seconds(3600));
  add(kCrowd, seconds(1));
  add(kCrowd, seconds(29));
  EXPECT_EQ(given_to(kCrowd), std::nullopt);
  add(kCrowd, seconds(31));
  EXPECT_EQ(given_to(kCrowd), 3);
}

TEST_F(GrowthPlacesTest, where_all_have_one_the_one_that_idles_longest_gives_it) {
  const std::vector<ShareOwner> owners = {{"a", ""}, {"b", ""}, {"c", ""}};
  add(owners[0], seconds(40));
  add(owners[1], seconds(90));
  add(owners[2], seconds(1));
  EXPECT_EQ(given_to(kNew), 1);
}

TEST_F(GrowthPlacesTest, where_all_have_one_and_climb_nobody_gives_it_and_none_is_blamed) {
  const std::vector<ShareOwner> owners = {{"a", ""}, {"b", ""}};
  add(owners[0], seconds(3));
  add(owners[1], seconds(29));
  EXPECT_EQ(given_to(kNew), std::nullopt);
  EXPECT_FALSE(is_over_share(kNew));
  EXPECT_TRUE(is_over_share(owners[0]));  // wants a second one
}

TEST_F(GrowthPlacesTest, namespace_of_many_containers_gives_to_another_one_though_all_climb) {
  const std::vector<ShareOwner> owners = {{"a", "shop"}, {"b", "shop"}, {"c", "shop"}, {"d", "mail"}};
  add(owners[3], seconds(9));
  add(owners[0], seconds(4));
  add(owners[1], seconds(5));
  add(owners[2], seconds(3));
  EXPECT_EQ(given_to({"e", "bank"}), 2);
  EXPECT_TRUE(is_over_share({"e", "bank"}));
  EXPECT_EQ(given_to({"e", "shop"}), std::nullopt);
}

class GrowthReadingTest : public ::testing::Test {
 protected:
  [[nodiscard]] bool may_read(const ShareOwner& owner) const { return shares_.may_read(owner, now_); }

  GrowthShares shares_;
  MonotonicTime now_{1};
};

TEST_F(GrowthReadingTest, one_that_takes_too_long_rests_and_others_go_on) {
  for (int i = 0; i < 11; ++i) shares_.charge(kCrowd, seconds(1), false, now_);
  EXPECT_FALSE(may_read(kCrowd));
  EXPECT_TRUE(may_read(kMine));
  now_ = now_ + CostShare::kRest;
  EXPECT_TRUE(may_read(kCrowd));
}

TEST_F(GrowthReadingTest, jobs_that_end_the_reader_are_dear) {
  for (int i = 0; i < 3; ++i) shares_.charge(kCrowd, Nanoseconds(0), true, now_);
  EXPECT_TRUE(may_read(kCrowd));
  shares_.charge(kCrowd, Nanoseconds(0), true, now_ = now_ + seconds(1));
  shares_.charge(kCrowd, seconds(1), false, now_);
  EXPECT_FALSE(may_read(kCrowd));
}

TEST_F(GrowthReadingTest, those_beyond_the_most_that_are_known_share_one_account) {
  for (std::size_t i = 0; i < GrowthShares::kMaxOwners; ++i) {
    shares_.charge({std::to_string(i), ""}, seconds(1), false, now_);
  }
  shares_.charge(kCrowd, seconds(11), false, now_);
  EXPECT_FALSE(may_read(kMine));
  EXPECT_TRUE(may_read({"0", ""}));
}

}  // namespace
}  // namespace oomw
