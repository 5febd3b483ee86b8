// SPDX-License-Identifier: Apache-2.0
#include "correlate/repeat_limit.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

constexpr MonotonicTime at(std::int64_t seconds) { return {seconds * 1'000'000'000}; }

TEST(RepeatLimitTest, a_burst_and_then_so_many_a_minute_each) {
  RepeatLimit limit({.per_minute = 6, .burst = 3});
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(limit.take("a", at(100)));
  EXPECT_FALSE(limit.take("a", at(100)));
  EXPECT_TRUE(limit.take("b", at(100))) << "another container";
  EXPECT_FALSE(limit.take("a", at(109)));
  EXPECT_TRUE(limit.take("a", at(110)));
  EXPECT_FALSE(limit.take("a", at(111)));
}

TEST(RepeatLimitTest, without_a_limit_or_a_name_all_may) {
  RepeatLimit off({.per_minute = 0, .burst = 1});
  RepeatLimit limit({.per_minute = 6, .burst = 1});
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(off.take("a", at(100)));
    EXPECT_TRUE(limit.take("", at(100)));
  }
}

TEST(RepeatLimitTest, the_newest_incident_is_remembered) {
  RepeatLimit limit({});
  EXPECT_FALSE(limit.newest("a").has_value());
  (void)limit.take("a", at(100));
  limit.set_newest("a", 7);
  EXPECT_EQ(limit.newest("a"), 7u);
}

TEST(RepeatLimitTest, with_too_many_containers_the_idle_are_forgotten_and_no_other_is_limited) {
  RepeatLimit limit({.per_minute = 6, .burst = 1});
  for (std::size_t i = 0; i < RepeatLimit::kMax; ++i) (void)limit.take(std::to_string(i), at(100));
  EXPECT_TRUE(limit.take("one more", at(101)));
  EXPECT_TRUE(limit.take("one more", at(101))) << "there is no room to count it";
  EXPECT_FALSE(limit.take("0", at(101)));
  EXPECT_TRUE(limit.take("later", at(200)));
  EXPECT_FALSE(limit.take("later", at(200)));
}

}  // namespace
}  // namespace oomw
