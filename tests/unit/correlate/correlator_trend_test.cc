// SPDX-License-Identifier: Apache-2.0
// The trend of a victim's heap amends its incident.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/correlate/correlator_fixture.h"

namespace oomw {
namespace {

using namespace test;

class CorrelatorTrendTest : public PodCorrelatorFixture {
 protected:
  static TrendJudged judged(std::int32_t pid, std::uint64_t live_bytes, std::int64_t ms = 1100) {
    TrendJudged trend;
    trend.time = at_ms(ms);
    trend.process = {pid, 5};
    trend.whole.last_live_bytes = live_bytes;
    trend.points = {{at_ms(500), "scheduled", 7, true, true, live_bytes, live_bytes, "trend-01.pb.gz", {}}};
    return trend;
  }
};

TEST_F(CorrelatorTrendTest, a_trend_that_comes_after_the_first_writing_amends_it) {
  EXPECT_FALSE(killed_at_limit().trend.has_value());
  apply(judged(10, 100));
  const Incident amended = take_one(1200);
  ASSERT_TRUE(amended.trend.has_value());
  EXPECT_EQ(amended.trend->pid, 10);
  EXPECT_EQ(amended.trend->points.at(0).time, (WallTime{at_ms(500).ns + kWallOffset}));
}

TEST_F(CorrelatorTrendTest, one_that_is_known_by_then_is_in_the_first_writing_and_its_report) {
  apply(killed(10, 5, 2, 2, 1000));
  apply(judged(10, 100, 1002));
  const Incident first = take_one(1005);
  ASSERT_TRUE(first.trend.has_value());
  EXPECT_THAT(to_markdown(first, {}), ::testing::HasSubstr("## The Go heap over time\n\n1 readings of pid 10"));
  EXPECT_TRUE(take(2000).empty()) << "it is no news";
}

TEST_F(CorrelatorTrendTest, the_same_trend_again_is_no_news) {
  (void)killed_at_limit();
  apply(judged(10, 100));
  (void)take_one(1200);
  apply(judged(10, 100, 1300));
  EXPECT_TRUE(take(2000).empty());
}

TEST_F(CorrelatorTrendTest, a_newer_one_is_news_even_while_only_walks_are_waited_for) {
  (void)killed_at_limit();
  EXPECT_TRUE(take(7000).empty());  // past the window of context
  apply(judged(10, 200, 8000));
  const Incident amended = take_one(9000);
  ASSERT_TRUE(amended.trend.has_value());
  EXPECT_EQ(amended.trend->whole.last_live_bytes, 200u);
}

TEST_F(CorrelatorTrendTest, the_trend_of_a_neighbour_changes_nothing) {
  (void)killed_at_limit();
  apply(judged(20, 100));
  EXPECT_TRUE(take(2000).empty());
}

}  // namespace
}  // namespace oomw
