// SPDX-License-Identifier: Apache-2.0
#include "triggers/trend_schedule.h"

#include <algorithm>
#include <string>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

MonotonicTime at_second(std::int64_t second) { return {second * 1'000'000'000}; }

// A process that is an hour old is read at second 3610, when its container uses so much of 1,000 bytes.
void read_once(TrendSchedule& schedule, std::uint64_t used) {
  schedule.set_processes({{{7, 1}, at_second(0)}}, at_second(3600));
  schedule.note_memory({7, 1}, {used, 1000});
  ASSERT_THAT(schedule.take_due(at_second(3610)), ElementsAre(ProcessKey{7, 1}));
  schedule.done({7, 1}, microseconds(300), at_second(3610));
}

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

TEST(TrendSchedule, a_young_process_is_looked_at_from_its_first_second_on) {
  const auto times = readings({}, microseconds(100), 20);
  ASSERT_GE(times.size(), 8u);
  EXPECT_EQ(times.front(), 1);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LE(times[i] - times[i - 1], 3);
}

TEST(TrendSchedule, then_each_eighth_of_its_age) {
  const auto times = readings({}, microseconds(100), 2000);
  for (std::size_t i = 1; i < times.size(); ++i) {
    const auto eighth = static_cast<double>(times[i - 1]) / 8;
    if (eighth < 3) continue;
    EXPECT_NEAR(static_cast<double>(times[i] - times[i - 1]), eighth, 0.1 * eighth + 1);
  }
}

TEST(TrendSchedule, intervals_grow_with_age_up_to_the_longest) {
  const auto times = readings({}, microseconds(300), 86'400);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_LE(times[i] - times[i - 1], 661);
  EXPECT_GE(times.back() - times[times.size() - 2], 539);
  EXPECT_GT(times.size(), 140u);
  EXPECT_LT(times.size(), 200u);
}

TEST(TrendSchedule, an_expensive_process_is_read_less_often) {
  const auto times = readings({}, milliseconds(60), 300);  // 0.0004 of a core: once in 150 s
  EXPECT_GE(times.size(), 2u);
  EXPECT_LE(times.size(), 3u);
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
  EXPECT_GE(to_seconds(spent) / (kSeconds - 60), 0.0003);
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

// What fills the memory of one process, asked each second; when it is read.
std::vector<std::int64_t> readings_of_leak(double mib_per_second, double limit_mib, Nanoseconds cost) {
  constexpr double kMib = 1 << 20;
  constexpr int kCalm = 3600;  // old and quiet when the leak begins
  TrendSchedule schedule({});
  schedule.set_processes({{{7, 1}, at_second(0)}}, at_second(kCalm));
  std::vector<std::int64_t> times;
  for (int t = kCalm; (t - kCalm - 700) * mib_per_second < limit_mib; ++t) {
    const double used = std::max(0.0, (t - kCalm - 700) * mib_per_second) * kMib;
    schedule.note_memory({7, 1}, {static_cast<std::uint64_t>(used), static_cast<std::uint64_t>(limit_mib * kMib)});
    for (const ProcessKey key : schedule.take_due(at_second(t))) {
      if (t > kCalm + 700) times.push_back(t - kCalm - 700);
      schedule.done(key, cost, at_second(t));
    }
  }
  return times;
}

TEST(TrendSchedule, a_leak_that_takes_20_seconds_to_its_limit_is_read_six_times) {
  const auto times = readings_of_leak(25, 500, microseconds(300));
  EXPECT_GE(times.size(), 6u);
  for (std::size_t i = 1; i < times.size(); ++i) EXPECT_GE(times[i] - times[i - 1], 2);
}

TEST(TrendSchedule, a_leak_that_takes_ten_minutes_is_read_denser_towards_its_end) {
  const auto times = readings_of_leak(1, 600, microseconds(300));
  ASSERT_GE(times.size(), 16u);
  EXPECT_LE(times.size(), 40u);
  EXPECT_GT(times[1] - times[0], 4 * (times.back() - times[times.size() - 2]));
}

TEST(TrendSchedule, near_the_limit_the_cost_still_counts) {
  EXPECT_LE(readings_of_leak(1, 600, milliseconds(30)).size(), 17u);  // 0.0006 of a core: once in 50 s
}

// A container of 1,000 bytes.
ContainerMemory used_by(const std::string& container, std::uint64_t used, std::int64_t second) {
  return {used, 1000, at_second(second), {container, ""}};
}

// Six containers that are killed within a minute of each other; whatever the age of their processes.
TEST(TrendSchedule, each_container_that_nears_its_limit_has_readings_of_its_own) {
  constexpr std::int32_t kNear = 6;
  for (const std::int64_t started : {0, 36'000}) {
    TrendSchedule schedule({});
    std::vector<TrendSchedule::Process> all;
    for (std::int32_t pid = 1; pid <= kNear; ++pid) all.push_back({{pid, 1}, at_second(started)});
    std::map<std::int32_t, std::size_t> read;
    for (int t = 35'000; t <= 36'040; ++t) {
      schedule.set_processes(all, at_second(t));
      const auto used = static_cast<std::uint64_t>(std::max(t - 36'000, 0) * 25);
      for (std::int32_t pid = 1; pid <= kNear; ++pid) {
        schedule.note_memory({pid, 1}, used_by(std::to_string(pid), used, t));
      }
      for (const ProcessKey key : schedule.take_due(at_second(t))) {
        read[key.pid] += t > 36'000 ? 1 : 0;
        schedule.done(key, milliseconds(4), at_second(t));
      }
    }
    for (std::int32_t pid = 1; pid <= kNear; ++pid) EXPECT_GE(read[pid], 5u) << pid << " since " << started;
  }
}

// However often it comes near its limit, with however many processes, and however long a reading takes.
TEST(TrendSchedule, one_container_does_not_use_up_what_others_have) {
  constexpr std::int32_t kMany = 16;
  for (const Nanoseconds cost : {microseconds(500), microseconds(4'000), microseconds(90'000)}) {
    TrendSchedule schedule({});
    std::vector<TrendSchedule::Process> all = {{{99, 1}, at_second(0)}};
    for (std::int32_t pid = 1; pid <= kMany; ++pid) all.push_back({{pid, 1}, at_second(0)});
    schedule.set_processes(all, at_second(3600));
    Nanoseconds of_one{0};
    int t = 3600;
    for (; t < 4800; ++t) {
      for (std::int32_t pid = 1; pid <= kMany; ++pid) {
        schedule.note_memory({pid, 1}, used_by("one", t % 2 == 0 ? 900 : 100, t));
      }
      schedule.note_memory({99, 1}, used_by("other", 0, t));
      for (const ProcessKey key : schedule.take_due(at_second(t))) {
        if (key.pid <= kMany) of_one += cost;
        schedule.done(key, key.pid == 99 ? milliseconds(4) : cost, at_second(t));
      }
    }
    EXPECT_LE(of_one, milliseconds(60 + 100 + 12 * 60 + 240) + 2 * cost) << "both bursts and the three shares";
    std::size_t of_other = 0;
    for (; t < 4820; ++t) {
      schedule.note_memory({99, 1}, used_by("other", static_cast<std::uint64_t>(t - 4800) * 50, t));
      for (const ProcessKey key : schedule.take_due(at_second(t))) {
        if (key.pid == 99) ++of_other;
        schedule.done(key, key.pid == 99 ? milliseconds(4) : cost, at_second(t));
      }
    }
    EXPECT_GE(of_other, 4u) << cost.count();
  }
}

// The rise of an hour is no climb to a limit, and a share of 0 is none.
TEST(TrendSchedule, who_has_time_or_no_share_pays_as_everybody_does) {
  for (const auto& [share, span, least, most] :
       {std::tuple{0.0002, 60, 4u, 30u}, std::tuple{0.0, 60, 0u, 2u}, std::tuple{0.0002, 3600, 0u, 2u}}) {
    TrendScheduleConfig config;
    config.own_core_share = share;
    config.max_core_share = config.near_core_share = 1e-9;
    TrendSchedule schedule(config);
    schedule.set_processes({{{7, 1}, at_second(0)}, {{8, 1}, at_second(0)}}, at_second(3600));
    std::size_t readings = 0;
    for (int t = 3600; t < 3600 + span; ++t) {
      const auto used = static_cast<std::uint64_t>((t - 3600) * 900 / span);
      schedule.note_memory({7, 1}, used_by("one", used, t));
      for (const ProcessKey key : schedule.take_due(at_second(t))) {
        readings += key.pid == 7 ? 1 : 0;
        schedule.done(key, key.pid == 7 ? milliseconds(2) : milliseconds(90), at_second(t));
      }
    }
    EXPECT_GE(readings, least) << share << " " << span;
    EXPECT_LE(readings, most) << share << " " << span;
  }
}

TEST(TrendSchedule, what_was_read_of_a_process_that_ended_meanwhile_is_paid_for) {
  TrendSchedule schedule({});
  schedule.set_processes({{{7, 1}, at_second(0)}, {{8, 1}, at_second(0)}}, at_second(3600));
  ASSERT_THAT(schedule.take_due(at_second(3610)), ::testing::Contains(ProcessKey{7, 1}));
  schedule.set_processes({{{8, 1}, at_second(0)}, {{9, 1}, at_second(3610)}}, at_second(3611));
  schedule.done({7, 1}, milliseconds(90), at_second(3611));
  schedule.done({8, 1}, milliseconds(1), at_second(3611));
  EXPECT_THAT(schedule.take_due(at_second(3620)), IsEmpty());
}

TEST(TrendSchedule, what_somebody_else_has_read_is_not_read_again_at_once) {
  TrendSchedule schedule({});
  read_once(schedule, 100);
  schedule.note_memory({7, 1}, {600, 1000});
  schedule.note_read({7, 1}, at_second(3613));
  schedule.note_read({8, 1}, at_second(3613));  // not known
  schedule.note_memory({7, 1}, {610, 1000});
  EXPECT_THAT(schedule.take_due(at_second(3616)), IsEmpty());
  schedule.note_memory({7, 1}, {700, 1000});
  EXPECT_THAT(schedule.take_due(at_second(3616)), ElementsAre(ProcessKey{7, 1}));
}

TEST(TrendSchedule, memory_that_stays_or_falls_brings_nothing_forward) {
  TrendSchedule schedule({});
  read_once(schedule, 900);
  for (const std::uint64_t used : {900, 500, 910, 912}) schedule.note_memory({7, 1}, {used, 1000});
  EXPECT_EQ(schedule.brought_forward(), 0u);
  schedule.note_memory({7, 1}, {913, 1000});
  EXPECT_EQ(schedule.brought_forward(), 1u);
  EXPECT_THAT(schedule.take_due(at_second(3613)), ElementsAre(ProcessKey{7, 1}));
}

TEST(TrendSchedule, a_look_that_read_nothing_leaves_it_near_its_limit) {
  TrendSchedule schedule({});
  read_once(schedule, 100);
  for (const std::int64_t second : {3613, 3616, 3619}) {
    schedule.note_memory({7, 1}, {600, 1000});
    ASSERT_EQ(schedule.take_due(at_second(second)).size(), 1u) << second;
    schedule.done({7, 1}, microseconds(20), at_second(second), false);
  }
}

TEST(TrendSchedule, a_process_without_a_limit_is_never_near_it) {
  TrendSchedule schedule({});
  schedule.set_processes({{{7, 1}, at_second(0)}}, at_second(3600));
  schedule.note_memory({7, 1}, {100, 0});
  schedule.note_memory({8, 1}, {100, 1000});  // not known
  EXPECT_THAT(schedule.take_due(at_second(3600)), IsEmpty());
}

// All of them near their limits for ten minutes: the bar of 0.001 holds, and jitter's tenth.
TEST(TrendSchedule, fifty_processes_near_their_limits_keep_to_both_shares) {
  constexpr int kProcesses = 50, kBegin = 36'000, kSeconds = 1200;
  TrendSchedule schedule({});
  std::vector<TrendSchedule::Process> all;
  for (std::int32_t pid = 1; pid <= kProcesses; ++pid) all.push_back({{pid, 1}, at_second(0)});
  schedule.set_processes(all, at_second(kBegin));
  Nanoseconds spent{0};
  std::uint64_t left = 1u << 30;
  for (int t = 0; t < kSeconds; ++t) {
    left -= left / 50;
    for (const auto& process : all) schedule.note_memory(process.key, {(1u << 30) - left, 1u << 30});
    for (const ProcessKey key : schedule.take_due(at_second(kBegin + t))) {
      if (t >= 60) spent += microseconds(500);  // after the first round
      schedule.done(key, microseconds(500), at_second(kBegin + t));
    }
  }
  EXPECT_GT(schedule.brought_forward(), 100u);
  EXPECT_LE(to_seconds(spent) / (kSeconds - 60), 0.0011);
}

TEST(TrendSchedule, a_storm_of_young_processes_costs_no_more_than_the_shares_and_the_burst) {
  constexpr int kSeconds = 600;
  TrendSchedule schedule({});
  Nanoseconds spent{0};
  for (int t = 0; t < kSeconds; ++t) {
    std::vector<TrendSchedule::Process> young;  // 20 a second, each lives for 3 s
    for (std::int32_t pid = 20 * std::max(t - 3, 0); pid < 20 * t; ++pid)
      young.push_back({{pid, 1}, at_second(pid / 20)});
    schedule.set_processes(young, at_second(t));
    for (const ProcessKey key : schedule.take_due(at_second(t))) {
      spent += milliseconds(2);
      schedule.done(key, milliseconds(2), at_second(t));
    }
  }
  EXPECT_GT(spent, milliseconds(100));
  EXPECT_LE(spent, milliseconds(30 + 6 * kSeconds / 10 + 4 * 2));
}

TEST(TrendSchedule, who_is_near_its_limit_comes_first) {
  TrendSchedule schedule({});
  std::vector<TrendSchedule::Process> all;
  for (std::int32_t pid = 1; pid <= 100; ++pid) all.push_back({{pid, 1}, at_second(0)});
  schedule.set_processes(all, at_second(3600));
  schedule.note_memory({77, 1}, {100, 1000});
  schedule.note_memory({77, 1}, {300, 1000});
  EXPECT_EQ(schedule.take_due(at_second(3700)).front(), (ProcessKey{77, 1}));
}

// With few readings by age, those that growth brings forward would show every rise and no fall.
TEST(TrendSchedule, where_falls_are_followed_a_container_that_gave_memory_back_is_read_ahead_of_its_turn) {
  for (const bool follows : {false, true}) {
    TrendSchedule schedule(TrendScheduleConfig{.follows_falls = follows});
    schedule.set_processes({{{7, 1}, at_second(0)}}, at_second(3600));
    schedule.note_memory({7, 1}, {800, 1000});
    ASSERT_THAT(schedule.take_due(at_second(3700)), ElementsAre(ProcessKey{7, 1}));
    schedule.done({7, 1}, microseconds(300), at_second(3700));
    schedule.note_memory({7, 1}, {710, 1000});
    EXPECT_THAT(schedule.take_due(at_second(3710)), IsEmpty()) << "less than an eighth";
    schedule.note_memory({7, 1}, {690, 1000});
    EXPECT_EQ(schedule.take_due(at_second(3710)).size(), follows ? 1u : 0u);
    EXPECT_EQ(schedule.brought_forward(), follows ? 1u : 0u);
  }
}

TEST(TrendSchedule, turns_go_round_all_processes) {
  TrendSchedule schedule({});
  EXPECT_THAT(schedule.take_turn(3), IsEmpty());
  schedule.set_processes({{{1, 1}, {}}, {{2, 1}, {}}, {{3, 1}, {}}}, at_second(100));
  EXPECT_THAT(schedule.take_turn(2), ElementsAre(ProcessKey{1, 1}, ProcessKey{2, 1}));
  EXPECT_THAT(schedule.take_turn(2), ElementsAre(ProcessKey{3, 1}, ProcessKey{1, 1}));
  EXPECT_EQ(schedule.take_turn(10).size(), 3u);
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
