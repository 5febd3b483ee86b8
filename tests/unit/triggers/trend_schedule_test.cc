// SPDX-License-Identifier: Apache-2.0
#include "triggers/trend_schedule.h"

#include <map>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

MonotonicTime at_second(std::int64_t second) { return {second * 1'000'000'000}; }

// When one process is read in `until` seconds, asked each second, if a reading takes `cost`.
std::vector<std::int64_t> readings(TrendScheduleConfig config, Nanoseconds cost, std::int64_t until) {
  TrendSchedule schedule(config);
  schedule.set_processes({{{7, 1}, at_second(0)}}, at_second(0));
  std::vector<std::int64_t> times;
  for (std::int64_t t = 0; t <= until; ++t) {
    for (const ProcessKey key : schedule.take_due(at_second(t))) {
      times.push_back(t);
      schedule.done(key, cost, at_second(t));
    }
  }
  return times;
}

TEST(TrendSchedule, a_young_process_is_read_at_the_shortest_interval) {
  const auto times = readings({}, microseconds(300), 60);
  ASSERT_GE(times.size(), 5u);
  EXPECT_GE(times.front(), 9);
  EXPECT_LE(times.front(), 12);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_NEAR(static_cast<double>(times[i] - times[i - 1]), 10, 2);
}

TEST(TrendSchedule, intervals_grow_with_age_up_to_the_longest) {
  const auto times = readings({}, microseconds(300), 86'400);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LE(times[i] - times[i - 1], 661);
  EXPECT_GE(times.back() - times[times.size() - 2], 539);
  EXPECT_GT(times.size(), 140u);
  EXPECT_LT(times.size(), 200u);
}

TEST(TrendSchedule, an_expensive_process_is_read_less_often) {
  const auto times = readings({}, milliseconds(60), 300);  // 0.0007 of a core: once in 86 s
  ASSERT_GE(times.size(), 4u);
  EXPECT_LE(times.size(), 6u);
}

TEST(TrendSchedule, fifty_processes_together_keep_to_the_share_of_a_core) {
  constexpr int kProcesses = 50, kSeconds = 600;
  TrendSchedule schedule({});
  std::vector<TrendSchedule::Process> all;
  for (std::int32_t pid = 1; pid <= kProcesses; ++pid) all.push_back({{pid, 1}, at_second(0)});
  Nanoseconds spent{0};
  const Nanoseconds cost = milliseconds(2);
  for (int t = 0; t < kSeconds; ++t) {
    schedule.set_processes(all, at_second(t));
    for (const ProcessKey key : schedule.take_due(at_second(t))) {
      if (t >= 60) spent += cost;
      schedule.done(key, cost, at_second(t));
    }
  }
  EXPECT_LE(to_seconds(spent) / (kSeconds - 60), 0.00125);
  EXPECT_GE(to_seconds(spent) / (kSeconds - 60), 0.0005);
}

TEST(TrendSchedule, no_more_than_a_few_are_due_at_once_and_nobody_is_forgotten) {
  TrendSchedule schedule({});
  std::vector<TrendSchedule::Process> all;
  for (std::int32_t pid = 1; pid <= 100; ++pid) all.push_back({{pid, 1}, at_second(0)});
  schedule.set_processes(all, at_second(3600));
  std::map<ProcessKey, int> read;
  for (int t = 3600; t < 3660; ++t) {
    const auto due = schedule.take_due(at_second(t));
    EXPECT_LE(due.size(), 4u);
    for (const ProcessKey key : due) {
      ++read[key];
      schedule.done(key, microseconds(300), at_second(t));
    }
  }
  EXPECT_EQ(read.size(), 100u);
}

TEST(TrendSchedule, a_reading_under_way_is_not_asked_for_again) {
  TrendSchedule schedule({});
  schedule.set_processes({{{7, 1}, at_second(0)}}, at_second(100));
  EXPECT_THAT(schedule.take_due(at_second(120)), ElementsAre(ProcessKey{7, 1}));
  EXPECT_THAT(schedule.take_due(at_second(1000)), IsEmpty());
  schedule.done({7, 1}, microseconds(300), at_second(1000));
  EXPECT_THAT(schedule.take_due(at_second(2000)), ElementsAre(ProcessKey{7, 1}));
}

TEST(TrendSchedule, who_is_gone_is_not_read_any_more) {
  TrendSchedule schedule({});
  schedule.set_processes({{{7, 1}, at_second(0)}}, at_second(100));
  schedule.set_processes({}, at_second(101));
  EXPECT_EQ(schedule.size(), 0u);
  EXPECT_THAT(schedule.take_due(at_second(1000)), IsEmpty());
  schedule.done({7, 1}, microseconds(300), at_second(1000));
}

}  // namespace
}  // namespace oomw
