// SPDX-License-Identifier: Apache-2.0
#include "trends/trend_judgement.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/trends/trend_fixture.h"

namespace oomw {
namespace {

using test::kBlock;
using testing::ElementsAre;

class TrendJudgementTest : public testing::Test {
 protected:
  TrendJudgementTest() {
    test::set_process(process_);
    names_ = process_.names(clock_, {});
  }
  TrendJudged judge(const HeapTrend& trend, const TrendFiles& files = {}) const {
    return judged_trend(trend, find_leaks(trend, std::nullopt), process_.key, *names_, {files, {}, {}},
                        MonotonicTime{77});
  }
  SystemClock clock_;
  GoProcess process_;
  std::unique_ptr<ProgramNames> names_;  // has none: addresses
};

// Where a story's site allocates, as long as nobody can name it.
std::string address_of(std::uint32_t story_site) {
  return fmt::format("{:#x}", test::HeapStory::stack_of(story_site).front());
}

TEST_F(TrendJudgementTest, a_trend_without_readings_tells_nothing_but_whose_it_is) {
  const TrendJudged judged =
      judged_trend({}, {}, process_.key, *names_, {{{0, "trend-01.pb.gz"}}, {}, {}}, MonotonicTime{77});
  EXPECT_EQ(judged.process, process_.key);
  EXPECT_EQ(judged.time, MonotonicTime{77});
  EXPECT_EQ(judged.suspects, 0u);
  EXPECT_EQ(judged.whole.judgement, "too_few_readings");
  EXPECT_TRUE(judged.sites.empty());
  EXPECT_TRUE(judged.points.empty());
}

TEST_F(TrendJudgementTest, suspects_come_first_then_what_grew_most_and_nobody_twice) {
  auto story = test::leaking_story({2, 3});
  story.heap.hold(7, 90.0 * kBlock, kBlock);
  story.heap.hold(8, 80.0 * kBlock, kBlock);
  story.heap.hold(1, 1.0 * kBlock, kBlock);  // less than before
  story.read();
  const TrendJudged judged = judge(story.trend);
  EXPECT_EQ(judged.suspects, 2u);
  std::vector<std::string> sites;
  for (const TrendSite& site : judged.sites) sites.push_back(site.figures.judgement + " " + site.frames.at(0));
  EXPECT_THAT(sites, ElementsAre("leak " + address_of(3), "leak " + address_of(2), "not_called " + address_of(7),
                                 "not_called " + address_of(8)));
}

TEST_F(TrendJudgementTest, a_leak_s_figures_are_the_detector_s) {
  const TrendJudged judged = judge(test::leaking_story({2}).trend);
  ASSERT_EQ(judged.sites.size(), 1u);
  const TrendFigures& figures = judged.sites[0].figures;
  EXPECT_EQ(figures.readings, 10u);
  EXPECT_EQ(figures.growth_share, 1);
  EXPECT_NEAR(figures.slope_bytes_per_second.value(), 2.0 * kBlock / 60, 1);
  EXPECT_NEAR(figures.gained_bytes.value(), 18.0 * kBlock, 1);
  EXPECT_EQ(figures.first_live_bytes, 2 * kBlock);
  EXPECT_EQ(figures.last_live_bytes, 20 * kBlock);
  EXPECT_EQ(figures.last_held_bytes, 20 * kBlock);
  EXPECT_EQ(judged.span_seconds, 540);
  EXPECT_EQ(judged.whole.last_live_bytes, 24 * kBlock);
}

TEST_F(TrendJudgementTest, of_what_merely_grew_no_slope_is_claimed) {
  auto story = test::leaking_story({}, 3);
  story.heap.hold(7, 9.0 * kBlock, kBlock);
  story.heap.garbage(7, 3.0 * kBlock);
  story.read();
  const TrendJudged judged = judge(story.trend);
  ASSERT_EQ(judged.sites.size(), 1u);
  const TrendFigures& figures = judged.sites[0].figures;
  EXPECT_EQ(figures.judgement, "not_called");
  EXPECT_EQ(figures.slope_bytes_per_second, std::nullopt);
  EXPECT_EQ(figures.slope_low_bytes_per_second, std::nullopt);
  EXPECT_EQ(figures.slope_high_bytes_per_second, std::nullopt);
  EXPECT_EQ(figures.gained_bytes, std::nullopt);
  EXPECT_EQ(figures.first_held_bytes, 0u);
  EXPECT_EQ(figures.last_live_bytes, 9 * kBlock);
  EXPECT_EQ(figures.last_held_bytes, 12 * kBlock);
}

TEST_F(TrendJudgementTest, of_one_reading_nothing_has_grown) {
  const TrendJudged judged = judge(test::leaking_story({2}, 1).trend);
  EXPECT_TRUE(judged.sites.empty());
  ASSERT_EQ(judged.points.size(), 1u);
  EXPECT_EQ(judged.points[0].live_bytes, 6 * kBlock);
}

TEST_F(TrendJudgementTest, more_suspects_than_are_listed_are_counted) {
  const TrendJudged judged = judge(test::leaking_story({2, 3, 4, 5, 6, 7, 8, 9}).trend);
  EXPECT_EQ(judged.suspects, 8u);
  ASSERT_EQ(judged.sites.size(), TrendJudged::kMaxSites);
  EXPECT_EQ(judged.sites.front().frames.at(0), address_of(9)) << "what gained most";
  EXPECT_EQ(judged.sites.back().frames.at(0), address_of(5));
}

TEST_F(TrendJudgementTest, a_deep_stack_is_cut_at_its_outer_end) {
  HeapTrend trend;
  std::vector<std::uint64_t> pcs;
  for (std::uint64_t i = 0; i < 100; ++i) pcs.push_back(0x401000 + i);
  trend.add(test::one_holding(pcs, kBlock, 1, 1), {test::at_second(60), ReadingOrigin::kScheduled, false});
  trend.add(test::one_holding(pcs, kBlock, 2, 2), {test::at_second(120), ReadingOrigin::kScheduled, false});
  const TrendJudged judged = judge(trend);
  ASSERT_EQ(judged.sites.size(), 1u);
  EXPECT_EQ(judged.sites[0].frames.size(), TrendJudged::kMaxFrames);
  EXPECT_GE(TrendJudged::kMaxFrames, 24u) << "nested JSON: 16 frames of its decoder before the code that asked for it";
  EXPECT_EQ(judged.sites[0].frames[0], "0x401000");
  EXPECT_EQ(judged.sites[0].component, "");
}

TEST_F(TrendJudgementTest, points_are_the_readings_with_the_files_they_went_to) {
  auto story = test::leaking_story({2}, 2);
  auto partial = test::one_holding({0x401000}, kBlock, 5, 9);
  partial.is_complete = false;
  partial.collection.reset();
  story.trend.add(partial, {test::at_second(500), ReadingOrigin::kAtKill, false});
  const TrendJudged judged = judge(story.trend, {{0, "trend-01.pb.gz"}, {2, "trend-02.pb.gz"}, {9, "no reading"}});
  ASSERT_EQ(judged.points.size(), 3u);
  EXPECT_EQ(
      judged.points[0],
      (TrendPoint{test::at_second(60), "scheduled", 2, true, true, 6 * kBlock, 6 * kBlock, "trend-01.pb.gz", {}}));
  EXPECT_EQ(judged.points[1].file, "");
  EXPECT_FALSE(judged.points[1].is_baseline);
  EXPECT_EQ(
      judged.points[2],
      (TrendPoint{
          test::at_second(500), "at_kill", std::nullopt, false, false, 5 * kBlock, 5 * kBlock, "trend-02.pb.gz", {}}));
}

TEST_F(TrendJudgementTest, figures_that_are_none_are_not_known_and_bytes_stay_bytes) {
  LeakReport report;
  report.whole.slope = std::nan("");
  report.whole.slope_low = -HUGE_VAL;
  report.whole.slope_high = HUGE_VAL;
  report.whole.gained_bytes = -5;
  report.whole.first_bytes = -1;
  report.whole.last_bytes = std::nan("");
  report.whole.held_first_bytes = HUGE_VAL;
  report.whole.held_last_bytes = 1e30;
  const TrendFigures whole = judged_trend({}, report, process_.key, *names_, {}, {}).whole;
  EXPECT_EQ(whole.slope_bytes_per_second, std::nullopt);
  EXPECT_EQ(whole.slope_low_bytes_per_second, std::nullopt);
  EXPECT_EQ(whole.slope_high_bytes_per_second, std::nullopt);
  EXPECT_EQ(whole.gained_bytes, -5) << "less than before is known";
  EXPECT_EQ(whole.first_live_bytes, 0u);
  EXPECT_EQ(whole.last_live_bytes, 0u);
  EXPECT_EQ(whole.first_held_bytes, 0u);
  EXPECT_EQ(whole.last_held_bytes, 1'000'000'000'000'000'000u);
}

TEST_F(TrendJudgementTest, counts_that_no_memory_holds_are_capped) {
  HeapTrend trend;
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  trend.add(test::one_holding({0x401000}, kMost / 2, 1, 1), {test::at_second(60), ReadingOrigin::kScheduled, false});
  trend.add(test::one_holding({0x401000}, kMost / 2, 1'000'000, 2),
            {test::at_second(120), ReadingOrigin::kScheduled, false});
  const TrendJudged judged = judge(trend);
  ASSERT_EQ(judged.sites.size(), 1u);
  EXPECT_EQ(judged.sites[0].figures.last_held_bytes, 1'000'000'000'000'000'000u);
  EXPECT_LE(judged.points[1].held_bytes, kMost / 2);
}

}  // namespace
}  // namespace oomw
