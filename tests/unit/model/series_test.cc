// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "model/series.h"

#include <gtest/gtest.h>

#include "unit/model/event_builders.h"

namespace oomw {
namespace {

using test::at_ms;
using test::kMiB;

TEST(SeriesTest, points_when_added_come_back_in_kib_and_ms) {
  Series series;
  series.add({at_ms(0), 10 * kMiB + 1023, std::nullopt});
  series.add({at_ms(250), 20 * kMiB, 5 * kMiB});
  const auto points = series.points();
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].usage_bytes, 10 * kMiB);
  EXPECT_FALSE(points[0].nonreclaimable_bytes.has_value());
  EXPECT_EQ(points[1].time, at_ms(250));
  EXPECT_EQ(points[1].nonreclaimable_bytes, 5 * kMiB);
}

TEST(SeriesTest, add_when_within_the_gap_replaces_the_last) {
  Series series;
  series.add({at_ms(0), 1 * kMiB, {}});
  series.add({at_ms(4), 2 * kMiB, {}});
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series.points()[0].usage_bytes, 2 * kMiB);
  EXPECT_EQ(series.points()[0].time, at_ms(4));
}

TEST(SeriesTest, add_when_readings_come_every_ms_keeps_one_per_gap) {
  Series series;
  for (int ms = 0; ms < 100; ++ms) series.add({at_ms(ms), kMiB, {}});
  EXPECT_EQ(series.size(), 20u);
}

TEST(SeriesTest, add_when_forced_within_the_gap_appends) {
  Series series;
  series.add({at_ms(0), 1 * kMiB, {}});
  series.add({at_ms(1), 2 * kMiB, {}}, true);
  EXPECT_EQ(series.size(), 2u);
}

TEST(SeriesTest, add_when_older_than_the_last_is_ignored) {
  Series series;
  series.add({at_ms(100), 1 * kMiB, {}});
  series.add({at_ms(50), 2 * kMiB, {}});
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series.points()[0].usage_bytes, 1 * kMiB);
}

TEST(SeriesTest, add_when_full_keeps_the_start_and_the_newest) {
  Series series;
  for (int i = 0; i < 10'000; ++i) series.add({at_ms(i * 1000), i * kMiB, {}});
  const auto points = series.points();
  ASSERT_LE(points.size(), Series::kCapacity);
  EXPECT_EQ(points.front().usage_bytes, 0u);
  EXPECT_EQ(points.back().usage_bytes, 9'999 * kMiB);
  EXPECT_EQ(points[points.size() - 2].usage_bytes, 9'998 * kMiB);
  for (std::size_t i = 1; i < points.size(); ++i) EXPECT_LT(points[i - 1].time, points[i].time);
}

// The widest gap for its age, seconds a second; the last second counts as equally old.
double widest_gap_for_age(const std::vector<SeriesPoint>& points) {
  double widest = 0;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const double gap = std::chrono::duration<double>(points[i].time - points[i - 1].time).count();
    const double age = std::chrono::duration<double>(points.back().time - points[i].time).count();
    widest = std::max(widest, gap / (age + 1));
  }
  return widest;
}

TEST(SeriesTest, add_when_full_leaves_no_gap_wide_for_its_age) {
  // A minute of readings, four a second and then near the limit a hundred: the start was once one straight line.
  Series series;
  for (int ms = 0; ms < 50'000; ms += 250) series.add({at_ms(ms), kMiB, {}});
  for (int ms = 50'000; ms < 60'000; ms += 10) series.add({at_ms(ms), kMiB, {}});
  EXPECT_LT(widest_gap_for_age(series.points()), 0.06);
}

TEST(SeriesTest, add_when_full_for_an_hour_leaves_no_gap_wide_for_its_age) {
  Series series;
  for (int ms = 0; ms < 3'600'000; ms += 50) {
    series.add({at_ms(ms), kMiB, {}});
    if (ms % 60'000 == 59'000) {
      ASSERT_LT(widest_gap_for_age(series.points()), 0.12) << ms;
    }
  }
}

TEST(SeriesTest, add_when_49_days_passed_starts_over) {
  Series series;
  series.add({at_ms(0), 1 * kMiB, {}});
  const MonotonicTime later = at_ms(0) + std::chrono::hours(24 * 60);
  series.add({later, 2 * kMiB, {}});
  ASSERT_EQ(series.size(), 1u);
  EXPECT_EQ(series.points()[0].time, later);
}

TEST(SeriesTest, add_when_usage_exceeds_4_tib_saturates) {
  Series series;
  series.add({at_ms(0), UINT64_MAX, UINT64_MAX});
  EXPECT_EQ(series.points()[0].usage_bytes, std::uint64_t{UINT32_MAX - 1} * 1024);
  EXPECT_TRUE(series.points()[0].nonreclaimable_bytes.has_value());
}

TEST(SeriesTest, growth_when_linear_is_the_slope) {
  Series series;
  for (int i = 0; i <= 10; ++i) series.add({at_ms(i * 100), (10 + i) * kMiB, {}});
  EXPECT_NEAR(*series.growth_bytes_per_second(std::chrono::seconds(1)), 10.0 * kMiB, 1.0);
}

TEST(SeriesTest, growth_when_only_the_window_grew_ignores_what_came_before) {
  Series series;
  for (int i = 0; i < 20; ++i) series.add({at_ms(i * 1000), 10 * kMiB, {}});
  for (int i = 0; i <= 10; ++i) series.add({at_ms(20'000 + i * 100), (10 + i) * kMiB, {}});
  EXPECT_NEAR(*series.growth_bytes_per_second(std::chrono::seconds(1)), 10.0 * kMiB, 1.0);
}

TEST(SeriesTest, growth_when_shrinking_is_negative) {
  Series series;
  series.add({at_ms(0), 20 * kMiB, {}});
  series.add({at_ms(1000), 10 * kMiB, {}});
  EXPECT_LT(*series.growth_bytes_per_second(std::chrono::seconds(1)), 0);
}

TEST(SeriesTest, growth_when_something_was_killed_is_of_what_lives) {
  Series series;
  for (int i = 0; i < 10; ++i) series.add({at_ms(i * 100), (50u + 10u * i) * kMiB, std::nullopt});
  series.add({at_ms(1000), kMiB, std::nullopt});
  EXPECT_FALSE(series.growth_bytes_per_second(std::chrono::seconds(30)).has_value());
  series.add({at_ms(2000), 2 * kMiB, std::nullopt});
  EXPECT_NEAR(*series.growth_bytes_per_second(std::chrono::seconds(30)), 1.0 * kMiB, 1.0);
}

TEST(SeriesTest, steady_growth_is_of_a_quarter_of_a_second_or_more_that_brought_little) {
  Series series;
  EXPECT_FALSE(series.steady_growth_bytes_per_second(UINT64_MAX).has_value());
  series.add({at_ms(0), 100 * kMiB, std::nullopt});
  series.add({at_ms(900), 101 * kMiB, std::nullopt});
  series.add({at_ms(1000), 102 * kMiB, std::nullopt});
  EXPECT_NEAR(*series.steady_growth_bytes_per_second(4 * kMiB), 2.0 * kMiB, 1.0);
  EXPECT_FALSE(series.steady_growth_bytes_per_second(kMiB).has_value()) << "a jump may have taken a millisecond";
  series.add({at_ms(2000), 90 * kMiB, std::nullopt});
  EXPECT_LT(*series.steady_growth_bytes_per_second(kMiB), 0);
}

TEST(SeriesTest, growth_when_too_little_is_known_is_none) {
  Series series;
  EXPECT_FALSE(series.growth_bytes_per_second(std::chrono::seconds(1)).has_value());
  series.add({at_ms(0), 1 * kMiB, {}});
  EXPECT_FALSE(series.growth_bytes_per_second(std::chrono::seconds(1)).has_value());
  series.add({at_ms(9), 2 * kMiB, {}});
  EXPECT_FALSE(series.growth_bytes_per_second(std::chrono::seconds(1)).has_value());
}

}  // namespace
}  // namespace oomw
