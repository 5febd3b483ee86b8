// SPDX-License-Identifier: Apache-2.0
// Which of the things that fill a process are suspected of a leak: exact counts, in lists of the largest.
#include <algorithm>
#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trends/trend_judgement.h"
#include "unit/analyses/contents_story.h"

namespace oomw {
namespace {

using test::Contents;
using test::ContentsStory;
using testing::ElementsAre;

constexpr int kReadings = 40;

// A tenth up and down: requests under way.
class Noise {
 public:
  explicit Noise(std::uint32_t seed) : random_(seed) {}
  double operator()(double mib) { return mib * std::uniform_real_distribution(0.9, 1.1)(random_); }

 private:
  std::mt19937 random_;
};

TEST(ContentsTrend, a_list_that_grows_beside_churn_is_suspected_with_the_name_that_holds_it) {
  Noise noise(1);
  ContentsStory story;
  for (int minute = 1; minute <= 12; ++minute) {
    const double kept = 10 + 4 * minute, churn = noise(30);
    story.read(minute, {{"list of dict as LOG", kept}, {"dict", 0.6 * kept + 0.5 * churn}, {"str", churn}}, 60 + kept);
  }
  EXPECT_TRUE(story.suspicion.is_raised());
  ASSERT_FALSE(story.report.suspects.empty());
  EXPECT_THAT(story.name_of(story.report.suspects.front()), ElementsAre("list of dict", "held as `LOG`"));
  EXPECT_DOUBLE_EQ(story.report.suspects.front().noise_bytes, 0) << "nothing is sampled";
}

TEST(ContentsTrend, a_leak_that_is_not_listed_at_first_is_suspected_once_it_is) {
  ContentsStory story;
  for (int minute = 1; minute <= 16; ++minute) {
    Contents contents;
    for (int i = 0; i < 16; ++i) contents["type" + std::to_string(i)] = 8;
    contents["list of bytes as KEPT"] = 3.0 * minute;  // the 17th for two minutes
    story.read(minute, contents, 200 + 3 * minute);
  }
  EXPECT_TRUE(story.suspicion.is_raised());
  ASSERT_EQ(story.report.suspects.size(), 1u);
  EXPECT_GE(story.report.suspects.front().held_first_bytes, 8.0 * (1 << 20)) << "at most, not 0";
}

TEST(ContentsTrend, what_holds_as_much_as_before_is_never_suspected) {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    Noise noise(seed);
    ContentsStory story;
    for (int minute = 1; minute <= kReadings; ++minute) {
      const Contents contents = {{"dict", noise(40)}, {"str", noise(30)}, {"list of dict as CACHE", noise(50)}};
      story.read(minute, contents, noise(140));
    }
    EXPECT_FALSE(story.was_suspected) << seed;
  }
}

// For longer than suspect_after, a batch looks like a leak until it ends.
TEST(ContentsTrend, what_is_emptied_again_and_again_is_never_suspected_and_slow_batches_not_for_good) {
  for (int period = 3; period <= 12; ++period) {
    ContentsStory story;
    for (int minute = 0; minute <= kReadings; ++minute) {
      const double batch = 10.0 * (minute % period);
      story.read(minute, {{"list of Row as batch", batch + 1}, {"str", 20}}, 60 + batch);
    }
    EXPECT_FALSE(story.suspicion.is_raised()) << period;
    EXPECT_FALSE(period <= 6 && story.was_suspected) << period;
  }
}

TEST(ContentsTrend, a_cache_that_is_full_within_minutes_is_never_suspected) {
  for (const double minutes_to_fill : {1.0, 2.0, 3.0}) {
    ContentsStory bounded, saturating;
    for (int half = 0; half <= 2 * kReadings; ++half) {
      const double minute = half / 2.0;
      const double linear = 80 * std::min(minute / minutes_to_fill, 1.0) + 1;
      bounded.read(minute, {{"dict as CACHE", linear}, {"str", 20}}, 60 + linear);
      const double slowing = 80 * (1 - std::exp(-minute / minutes_to_fill)) + 1;
      saturating.read(minute, {{"dict as CACHE", slowing}, {"str", 20}}, 60 + slowing);
    }
    EXPECT_FALSE(bounded.was_suspected) << minutes_to_fill;
    EXPECT_FALSE(saturating.was_suspected) << minutes_to_fill;
  }
}

TEST(ContentsTrend, what_moves_from_one_type_to_another_is_never_suspected) {
  Noise noise(3);
  ContentsStory story;
  for (int minute = 0; minute <= kReadings; ++minute) {
    const double moved = 1.5 * minute;
    story.read(minute, {{"Old", 80 - moved}, {"New", 10 + moved}, {"dict as INDEX", 10 + moved}}, 120 + noise(1));
  }
  EXPECT_FALSE(story.was_suspected);
}

// Many readings come when the memory has grown, so its growth from one to the next is no evidence.
TEST(ContentsTrend, a_process_that_grows_without_a_name_that_does_is_not_suspected) {
  Noise noise(4);
  ContentsStory story;
  for (int minute = 1; minute <= kReadings; ++minute) story.read(minute, {{"dict", noise(20)}}, 40 + 5 * minute);
  EXPECT_EQ(story.report.whole.judgement, LeakJudgement::kLeak);
  EXPECT_FALSE(story.was_suspected);
}

// The others' growth lifts the bound below which nothing is listed.
TEST(ContentsTrend, what_appears_at_the_end_of_the_list_is_not_taken_for_growth) {
  ContentsStory story;
  for (int minute = 1; minute <= 12; ++minute) {
    Contents contents;
    for (int i = 0; i < 16; ++i) contents["type" + std::to_string(i)] = 10 + 3 * minute;
    if (minute >= 11) contents["late"] = 60;
    story.read(minute, contents, 300 + 50 * minute);
  }
  for (const SiteTrend& site : story.report.suspects) EXPECT_NE(story.name_of(site).front(), "late");
}

TEST(ContentsTrend, heaps_with_dead_objects_in_them_are_kept_and_never_judged) {
  for (const RuntimeKind of : {RuntimeKind::kJvm, RuntimeKind::kV8}) {
    ContentsStory story(of);
    for (int minute = 1; minute <= 12; ++minute) story.read(minute, {{"byte[]", 10.0 * minute}}, 50 + 10 * minute);
    EXPECT_EQ(story.report.readings, 1u);
    EXPECT_FALSE(story.was_suspected);
    ASSERT_EQ(grown_sites(story.trend).size(), 1u);
    EXPECT_DOUBLE_EQ(grown_sites(story.trend).front().held_last_bytes, 120.0 * (1 << 20));
  }
}

// A day of fifty programs of 10 to 400 MiB at a millisecond for each, all of them growing and shrinking by the hour.
TEST(ContentsTrend, fifty_programs_together_keep_to_the_share_of_a_core_and_all_are_read) {
  constexpr int kPrograms = 50, kSeconds = 86'400;
  const TrendScheduleConfig config = contents_trends_config({}).schedule;
  TrendSchedule schedule(config);
  std::vector<TrendSchedule::Process> all;
  for (std::int32_t pid = 1; pid <= kPrograms; ++pid) all.push_back({{pid, 1}, {}});
  const auto cost = [](ProcessKey key) { return std::chrono::milliseconds(8 * key.pid); };
  std::map<std::int32_t, int> readings;
  Nanoseconds spent{0};
  for (int t = 0; t < kSeconds; ++t) {
    const MonotonicTime now{t * std::int64_t{1'000'000'000}};
    if (t % 60 == 0) schedule.set_processes(all, now);
    for (const ProcessKey key : schedule.take_turn(kPrograms)) {
      const int phase = (t + key.pid * 1000) % 3600;
      schedule.note_memory(key, {1'000'000u + 200u * static_cast<unsigned>(std::min(phase, 3600 - phase)), 2'000'000});
    }
    for (const ProcessKey key : schedule.take_due(now)) {
      ++readings[key.pid];
      spent += cost(key);
      schedule.done(key, cost(key), now);
    }
  }
  const double share = to_seconds(spent) / kSeconds;
  EXPECT_LE(share, config.max_core_share + config.near_core_share + 1e-5);
  EXPECT_GT(share, 0.0002) << "the budget is used";
  EXPECT_EQ(readings.size(), static_cast<std::size_t>(kPrograms));
}

}  // namespace
}  // namespace oomw
