// SPDX-License-Identifier: Apache-2.0
#include "triggers/analysis_policy.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr CgroupId kCgroup{7};
using enum AnalysisPolicy::Depth;
using std::chrono::milliseconds;
using Plan = AnalysisPolicy::Plan;

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

// Whole 60 ms + 100 * 1.5 ms; the composition 60 ms + 100 * 0.05 ms; a sample 25 ms more and its part of 150 ms.
TEST(AnalysisPolicy, none_begins_that_could_not_end_before_the_limit) {
  constexpr std::uint64_t kUsage = 100u << 20;
  EXPECT_EQ(AnalysisPolicy::plan_for(kUsage, std::nullopt), (Plan{kWhole, 1}));
  EXPECT_EQ(AnalysisPolicy::plan_for(kUsage, milliseconds(210)), (Plan{kWhole, 1}));
  EXPECT_EQ(AnalysisPolicy::plan_for(kUsage, milliseconds(209)), (Plan{kSampled, 2}));
  EXPECT_EQ(AnalysisPolicy::plan_for(kUsage, milliseconds(120)), (Plan{kSampled, 5}));
  EXPECT_EQ(AnalysisPolicy::plan_for(kUsage, milliseconds(93)), (Plan{kSampled, 50}));
  EXPECT_EQ(AnalysisPolicy::plan_for(kUsage, milliseconds(92)), (Plan{kComposition, 1})) << "less than one of 64";
  EXPECT_EQ(AnalysisPolicy::plan_for(kUsage, milliseconds(65)), (Plan{kComposition, 1}));
  EXPECT_EQ(AnalysisPolicy::plan_for(kUsage, milliseconds(64)), (Plan{kNone, 1}));
}

TEST(AnalysisPolicy, the_price_is_that_of_the_runtime) {
  constexpr std::uint64_t kUsage = 100u << 20;
  EXPECT_EQ(AnalysisPolicy::plan_for(kUsage, milliseconds(161), milliseconds(1)), (Plan{kWhole, 1}));
  EXPECT_EQ(AnalysisPolicy::plan_for(kUsage, milliseconds(159), milliseconds(1)), (Plan{kSampled, 2}));
  EXPECT_EQ(AnalysisPolicy::plan_for(kUsage, milliseconds(159), milliseconds(20)), (Plan{kSampled, 29}));
}

TEST(AnalysisPolicy, extremes_of_memory_and_time_have_a_plan) {
  constexpr std::uint64_t kAll = ~std::uint64_t{0};  // counts as 1 TiB
  EXPECT_EQ(AnalysisPolicy::plan_for(kAll, std::chrono::seconds(60)), (Plan{kComposition, 1}));
  EXPECT_EQ(AnalysisPolicy::plan_for(kAll, std::chrono::seconds(200)), (Plan{kSampled, 17}));
  EXPECT_EQ(AnalysisPolicy::plan_for(kAll, Nanoseconds::max()), (Plan{kWhole, 1}));
  EXPECT_EQ(AnalysisPolicy::plan_for(0, milliseconds(60)), (Plan{kWhole, 1}));
  for (const Nanoseconds past : {Nanoseconds(0), Nanoseconds(-1), Nanoseconds(std::chrono::hours(-24))}) {
    EXPECT_EQ(AnalysisPolicy::plan_for(0, past), (Plan{kNone, 1}));
    EXPECT_EQ(AnalysisPolicy::plan_for(kAll, past), (Plan{kNone, 1}));
  }
}

TEST(AnalysisPolicy, a_sample_replaces_less_and_never_more) {
  AnalysisPolicy policy;
  EXPECT_TRUE(policy.wants(kCgroup, kComposition, 80, at_seconds(1)));
  EXPECT_TRUE(policy.wants(kCgroup, kSampled, 82, at_seconds(2)));
  EXPECT_FALSE(policy.wants(kCgroup, kComposition, 100, at_seconds(3)));
  EXPECT_TRUE(policy.wants(kCgroup, kSampled, 95, at_seconds(3))) << "the second";
  EXPECT_FALSE(policy.wants(kCgroup, kSampled, 100, at_seconds(4)));
  EXPECT_TRUE(policy.wants(kCgroup, kWhole, 95, at_seconds(5))) << "it became slower";
  EXPECT_FALSE(policy.wants(kCgroup, kSampled, 100, at_seconds(6)));
}

TEST(AnalysisPolicy, what_was_found_counts_and_not_what_was_planned) {
  AnalysisPolicy policy;
  EXPECT_TRUE(policy.wants(kCgroup, kWhole, 80, at_seconds(1)));
  policy.note(kCgroup, kComposition);
  EXPECT_TRUE(policy.wants(kCgroup, kSampled, 85, at_seconds(2)));
  policy.note(kCgroup, kWhole);
  EXPECT_FALSE(policy.wants(kCgroup, kSampled, 95, at_seconds(3)));
  policy.note({9}, kWhole);
  EXPECT_TRUE(policy.wants({9}, kComposition, 80, at_seconds(4))) << "nothing is known of a cgroup that had none";
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
