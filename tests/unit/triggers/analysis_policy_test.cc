// SPDX-License-Identifier: Apache-2.0
#include "triggers/analysis_policy.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr CgroupId kCgroup{7};
using enum AnalysisPolicy::Depth;

MonotonicTime at_seconds(std::int64_t seconds) { return {seconds * 1'000'000'000}; }

TEST(AnalysisPolicy, one_climb_gets_the_first_level_and_the_last) {
  AnalysisPolicy policy;
  EXPECT_TRUE(policy.wants(kCgroup, kWhole, 80, at_seconds(1)));
  EXPECT_FALSE(policy.wants(kCgroup, kWhole, 90, at_seconds(2)));
  EXPECT_TRUE(policy.wants(kCgroup, kWhole, 95, at_seconds(3)));
  EXPECT_FALSE(policy.wants(kCgroup, kWhole, 99, at_seconds(4)));
}

TEST(AnalysisPolicy, without_growth_there_is_no_second) {
  AnalysisPolicy policy;
  EXPECT_TRUE(policy.wants(kCgroup, kWhole, 94, at_seconds(1)));
  EXPECT_FALSE(policy.wants(kCgroup, kWhole, 95, at_seconds(2)));
}

TEST(AnalysisPolicy, rest_and_kill_begin_a_new_climb) {
  AnalysisPolicy policy;
  EXPECT_TRUE(policy.wants(kCgroup, kWhole, 80, at_seconds(1)));
  EXPECT_FALSE(policy.wants(kCgroup, kWhole, 80, at_seconds(200)));
  EXPECT_TRUE(policy.wants(kCgroup, kWhole, 80, at_seconds(301)));
  policy.forget(kCgroup);
  EXPECT_TRUE(policy.wants(kCgroup, kWhole, 80, at_seconds(302)));
}

TEST(AnalysisPolicy, none_begins_that_could_not_end_before_the_limit) {
  constexpr std::uint64_t kUsage = 100u << 20;  // 60 ms + 100 * 1.5 ms; of the composition 60 ms + 100 * 0.05 ms
  using std::chrono::milliseconds;
  EXPECT_EQ(AnalysisPolicy::depth_for(kUsage, std::nullopt), kWhole);
  EXPECT_EQ(AnalysisPolicy::depth_for(kUsage, milliseconds(210)), kWhole);
  EXPECT_EQ(AnalysisPolicy::depth_for(kUsage, milliseconds(209)), kComposition);
  EXPECT_EQ(AnalysisPolicy::depth_for(kUsage, milliseconds(65)), kComposition);
  EXPECT_EQ(AnalysisPolicy::depth_for(kUsage, milliseconds(64)), kNone);
  EXPECT_EQ(AnalysisPolicy::depth_for(~std::uint64_t{0}, std::chrono::seconds(60)), kComposition);
}

TEST(AnalysisPolicy, the_composition_is_for_a_climb_that_has_nothing_else) {
  AnalysisPolicy policy;
  EXPECT_FALSE(policy.wants(kCgroup, kNone, 80, at_seconds(1)));
  EXPECT_TRUE(policy.wants(kCgroup, kComposition, 80, at_seconds(1)));
  EXPECT_FALSE(policy.wants(kCgroup, kComposition, 95, at_seconds(2)));
  EXPECT_TRUE(policy.wants(kCgroup, kComposition, 100, at_seconds(2))) << "much has come since";
  EXPECT_TRUE(policy.wants(kCgroup, kWhole, 85, at_seconds(3))) << "it became slower";
  EXPECT_FALSE(policy.wants(kCgroup, kComposition, 99, at_seconds(4)));
  EXPECT_TRUE(policy.wants(kCgroup, kWhole, 95, at_seconds(5)));
  EXPECT_FALSE(policy.wants(kCgroup, kWhole, 100, at_seconds(6)));
}

TEST(AnalysisPolicy, remembers_a_bounded_number_of_containers) {
  AnalysisPolicy policy;
  for (std::uint64_t id = 1; id <= AnalysisPolicy::kMaxCgroups + 1; ++id) {
    EXPECT_TRUE(policy.wants({id}, kWhole, 80, at_seconds(static_cast<std::int64_t>(id) / 100)));
  }
  EXPECT_FALSE(policy.wants({AnalysisPolicy::kMaxCgroups}, kWhole, 80, at_seconds(11)));
  EXPECT_TRUE(policy.wants({1}, kWhole, 80, at_seconds(11))) << "the oldest made room";
}

}  // namespace
}  // namespace oomw
