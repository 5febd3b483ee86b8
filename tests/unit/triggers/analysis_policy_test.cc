// SPDX-License-Identifier: Apache-2.0
#include "triggers/analysis_policy.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr CgroupId kCgroup{7};

MonotonicTime at_seconds(std::int64_t seconds) { return {seconds * 1'000'000'000}; }

TEST(AnalysisPolicy, one_climb_gets_the_first_level_and_the_last) {
  AnalysisPolicy policy;
  EXPECT_TRUE(policy.wants(kCgroup, 80, at_seconds(1)));
  EXPECT_FALSE(policy.wants(kCgroup, 90, at_seconds(2)));
  EXPECT_TRUE(policy.wants(kCgroup, 95, at_seconds(3)));
  EXPECT_FALSE(policy.wants(kCgroup, 99, at_seconds(4)));
}

TEST(AnalysisPolicy, without_growth_there_is_no_second) {
  AnalysisPolicy policy;
  EXPECT_TRUE(policy.wants(kCgroup, 94, at_seconds(1)));
  EXPECT_FALSE(policy.wants(kCgroup, 95, at_seconds(2)));
}

TEST(AnalysisPolicy, rest_and_kill_begin_a_new_climb) {
  AnalysisPolicy policy;
  EXPECT_TRUE(policy.wants(kCgroup, 80, at_seconds(1)));
  EXPECT_FALSE(policy.wants(kCgroup, 80, at_seconds(200)));
  EXPECT_TRUE(policy.wants(kCgroup, 80, at_seconds(301)));
  policy.forget(kCgroup);
  EXPECT_TRUE(policy.wants(kCgroup, 80, at_seconds(302)));
}

TEST(AnalysisPolicy, none_begins_that_could_not_end_before_the_limit) {
  constexpr std::uint64_t kUsage = 100u << 20;  // 60 ms + 100 * 1.5 ms
  EXPECT_TRUE(AnalysisPolicy::has_time(kUsage, std::nullopt));
  EXPECT_TRUE(AnalysisPolicy::has_time(kUsage, std::chrono::milliseconds(210)));
  EXPECT_FALSE(AnalysisPolicy::has_time(kUsage, std::chrono::milliseconds(209)));
  EXPECT_FALSE(AnalysisPolicy::has_time(~std::uint64_t{0}, std::chrono::seconds(60)));
}

TEST(AnalysisPolicy, remembers_a_bounded_number_of_containers) {
  AnalysisPolicy policy;
  for (std::uint64_t id = 1; id <= AnalysisPolicy::kMaxCgroups + 1; ++id) {
    EXPECT_TRUE(policy.wants({id}, 80, at_seconds(static_cast<std::int64_t>(id) / 100)));
  }
  EXPECT_FALSE(policy.wants({AnalysisPolicy::kMaxCgroups}, 80, at_seconds(11)));
  EXPECT_TRUE(policy.wants({1}, 80, at_seconds(11))) << "the oldest made room";
}

}  // namespace
}  // namespace oomw
