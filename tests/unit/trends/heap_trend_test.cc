// SPDX-License-Identifier: Apache-2.0
#include "trends/heap_trend.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "unit/trends/trend_fixture.h"

namespace oomw {
namespace {

using test::at_second;
using test::HeapStory;
using test::kMiB;
using test::scheduled;
using testing::ElementsAre;

std::vector<double> seconds_of(const HeapTrend& trend) {
  std::vector<double> seconds;
  for (const TrendReading& reading : trend.readings()) seconds.push_back(to_seconds(reading.time - MonotonicTime{}));
  return seconds;
}

TEST(HeapTrend, a_reading_has_the_bytes_of_both_series_scaled) {
  HeapStory story;
  story.hold(1, 100.0 * kMiB, kMiB);
  story.garbage(1, 50.0 * kMiB);
  const HeapReading heap = story.read();
  const double each = bytes_per_sample(kMiB, test::kRate);
  HeapTrend trend;
  trend.add(heap, scheduled(20));
  const TrendReading& reading = trend.readings().at(0);
  const auto bytes = [each](std::int64_t objects) { return each * static_cast<double>(objects); };
  EXPECT_NEAR(static_cast<double>(reading.live_bytes), bytes(heap.holdings[0].live.objects), 1);
  EXPECT_NEAR(static_cast<double>(reading.held_bytes), bytes(heap.holdings[0].held.objects), 1);
  EXPECT_GT(reading.held_bytes, reading.live_bytes);
  EXPECT_EQ(reading.gc_cycle, 1u);
}

TEST(HeapTrend, a_stack_seen_again_keeps_its_number) {
  HeapStory story;
  story.hold(7, 64.0 * kMiB);
  HeapTrend trend;
  trend.add(story.read(), scheduled(20));
  story.hold(3, 64.0 * kMiB);
  trend.add(story.read(), scheduled(30));
  ASSERT_EQ(trend.sites().buckets(), 2u);
  EXPECT_EQ(trend.readings()[0].buckets.at(0).number, 0u);
  EXPECT_TRUE(test::is_site(trend, 0, 7));
  EXPECT_TRUE(test::is_site(trend, 1, 3));
}

TEST(HeapTrend, one_program_loaded_elsewhere_has_the_same_sites) {
  HeapStory story;
  story.hold(1, 64.0 * kMiB);
  HeapReading moved = story.read();
  moved.load_bias = 0x1000;
  HeapTrend trend;
  trend.add(moved, scheduled(20));
  EXPECT_EQ(trend.sites().pcs_of(0).front(), HeapStory::stack_of(1).front() - 0x1000);
}

TEST(HeapTrend, addresses_beyond_four_gigabytes_survive) {
  const std::vector<std::uint64_t> pcs = {0x401000, 0x7fff'1234'5678, 0x402000};
  HeapTrend trend;
  trend.add(test::one_holding(pcs, 64, 1, 1), scheduled(20));
  EXPECT_EQ(trend.sites().pcs_of(0), pcs);
}

// A start of 15 s, then a collection and a reading each 10 s.
HeapTrend after_a_start(int readings, bool is_collected) {
  HeapStory story;
  HeapTrend trend;
  trend.add(story.read(), scheduled(5, true));
  for (int i = 0; i < readings; ++i) {
    if (is_collected) story.collect();
    trend.add(story.read(), scheduled(20 + i * 10));
  }
  return trend;
}

TEST(HeapTrend, the_first_reading_after_start_up_is_the_baseline) {
  EXPECT_EQ(after_a_start(0, true).after_start_up(), std::nullopt);
  EXPECT_EQ(after_a_start(1, true).after_start_up(), 1u);
  EXPECT_EQ(after_a_start(9, true).baseline(), 1u);
}

TEST(HeapTrend, who_lived_shortly_is_judged_with_its_start) {
  EXPECT_EQ(after_a_start(0, true).baseline(), 0u);
  EXPECT_EQ(after_a_start(6, true).baseline(), 0u);  // 50 s since, of 65
  EXPECT_EQ(after_a_start(7, true).baseline(), 1u);  // 60 of 75
}

TEST(HeapTrend, readings_of_one_collection_are_not_enough_to_do_without_the_start) {
  EXPECT_EQ(after_a_start(15, false).baseline(), 0u);
}

TEST(HeapTrend, of_many_readings_of_one_collection_those_between_go_first) {
  HeapStory story;
  HeapTrend trend;
  for (int i = 0; i < 8; ++i) {
    story.collect();
    trend.add(story.read(), scheduled(20 + i * 10));
  }
  for (int i = 0; i < 20; ++i) trend.add(story.read(), scheduled(100 + i));
  std::set<std::uint32_t> cycles;
  for (const TrendReading& reading : trend.readings()) cycles.insert(reading.gc_cycle.value());
  EXPECT_EQ(cycles.size(), 8u);
  EXPECT_EQ(trend.readings().back().time, test::at_second(119));
}

TEST(HeapTrend, a_late_reading_goes_where_it_belongs) {
  HeapStory story;
  HeapTrend trend;
  for (const double t : {20.0, 40.0, 30.0}) trend.add(story.read(), scheduled(t));
  EXPECT_THAT(seconds_of(trend), ElementsAre(20, 30, 40));
  EXPECT_EQ(trend.baseline(), 0u);
}

TEST(HeapTrend, over_a_day_the_baseline_stays_and_ages_grow_geometrically) {
  HeapStory story;
  story.hold(1, 64.0 * kMiB);
  HeapTrend trend;
  for (int i = 1; i <= 144; ++i) trend.add(story.read(), scheduled(i * 600));
  const std::vector<double> times = seconds_of(trend);
  ASSERT_EQ(times.size(), HeapTrend::kMaxReadings);
  EXPECT_EQ(times.front(), 600);
  EXPECT_EQ(times.back(), 86'400);
  EXPECT_EQ(times[times.size() - 2], 85'800);
  for (std::size_t i = 1; i + 2 < times.size(); ++i) {
    const double ratio = (86'400 - times[i]) / (86'400 - times[i + 1]);
    EXPECT_LE(ratio, 2.01) << "between " << times[i] << " and " << times[i + 1];
  }
}

TEST(HeapTrend, thinning_never_takes_baseline_newest_or_the_kill) {
  HeapStory story;
  HeapTrend trend;
  trend.add(story.read(), scheduled(20));
  trend.add(story.read(), scheduled(30));
  trend.add(story.read(), {at_second(40), ReadingOrigin::kAtKill, false});
  trend.add(story.read(), scheduled(50));
  EXPECT_TRUE(trend.thin());
  EXPECT_FALSE(trend.thin());
  EXPECT_THAT(seconds_of(trend), ElementsAre(20, 40, 50));
}

TEST(HeapTrend, stacks_that_no_reading_needs_any_more_go) {
  HeapStory story;
  HeapTrend trend;
  trend.add(story.read(), scheduled(20));
  for (std::uint32_t site = 0; site < 1000; ++site) story.hold(site, 1.0 * kMiB, kMiB);
  trend.add(story.read(), scheduled(30));
  const std::size_t full = trend.bytes();
  for (std::uint32_t site = 1; site < 1000; ++site) story.hold(site, 0, kMiB);
  trend.add(story.read(), scheduled(40));
  EXPECT_TRUE(trend.thin());
  EXPECT_LE(trend.sites().buckets(), 1u);
  EXPECT_LT(trend.bytes() * 20, full);
}

TEST(HeapTrend, more_buckets_than_there_is_room_for_keep_the_largest_and_tell_the_rest) {
  constexpr std::uint32_t kSites = SiteTable::kMaxBuckets + 100;
  HeapReading heap = HeapStory().read();
  for (std::uint32_t site = 0; site < kSites; ++site) {
    const HeapAmount amount{site + 1, site + 1};
    heap.holdings.push_back({heap.pcs.append(HeapStory::stack_of(site)), 3, 1, amount, amount, amount});
  }
  heap.rate = 1;
  HeapTrend trend;
  trend.add(heap, scheduled(20));
  const TrendReading& reading = trend.readings()[0];
  EXPECT_EQ(reading.buckets.size(), std::size_t{SiteTable::kMaxBuckets});
  EXPECT_EQ(reading.untracked_bytes, 100u * 101 / 2);
  EXPECT_EQ(reading.live_bytes, std::uint64_t{kSites} * (kSites + 1) / 2);
}

}  // namespace
}  // namespace oomw
