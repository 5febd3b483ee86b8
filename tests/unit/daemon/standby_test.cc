// SPDX-License-Identifier: Apache-2.0
// The pipeline of a daemon that stands by, and what it makes of the time before it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/data_dir_lock.h"
#include "daemon/pipeline.h"
#include "unit/base/set_clock.h"
#include "unit/base/temporary_directory.h"

namespace oomw {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using test::at;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr CgroupId kCgroup{100};

OomKill killed(std::int32_t pid, Nanoseconds t) {
  OomKill kill;
  kill.time = at(t);
  kill.victim = {pid, 77};
  kill.victim_cgroup = kill.owner_cgroup = kCgroup;
  kill.owner_known = true;
  kill.source = "bpf";
  return kill;
}

OomKill logged_afterwards(std::int32_t pid, Nanoseconds t) {
  OomKill kill = killed(pid, t);
  kill.victim.start_ticks = 0;
  kill.source = "kmsg";
  kill.unwatched = Unwatched{at(seconds(1)), at(seconds(10))};
  return kill;
}

MemorySampled sampled(std::uint64_t kills, Nanoseconds t) {
  MemorySampled sample;
  sample.time = at(t);
  sample.cgroup = kCgroup;
  sample.usage_bytes = 1000;
  sample.limit_bytes = 2000;
  sample.detailed = true;
  sample.memory_stat = {{"anon", 900}};
  sample.kernel_oom_kills = kills;
  return sample;
}

std::uint64_t counted(const Pipeline& pipeline) {
  std::uint64_t sum = 0;
  for (const auto& [labels, count] : pipeline.ledger().counts()) sum += count;
  return sum;
}

LedgerState ledger(std::uint64_t kills) {
  LedgerState state;
  state.boot_id = "b";
  if (kills != 0) state.ledger.add({"", "", "app", "container"}, kills);
  state.counted_by_cgroup = {{kCgroup.value, kills}};
  state.heard = HeardUntil{at(seconds(1)), {}};
  return state;
}

class StandbyTest : public ::testing::Test {
 protected:
  StandbyTest() { pipeline.apply(CgroupCreated{at(seconds(1)), kCgroup, CgroupId{1}, "/app", true, true}); }
  std::vector<Incident> incidents(Nanoseconds t) { return pipeline.take_incidents(at(t), 0); }
  void hear(Nanoseconds t) {
    pipeline.heard(at(t));
    pipeline.tick(at(t));
  }
  Pipeline pipeline{TriggerConfig{}, {}, Pipeline::StandBy{}};
};

TEST_F(StandbyTest, kills_are_held_and_neither_counted_nor_told) {
  pipeline.apply(killed(5, seconds(2)));
  pipeline.apply(sampled(1, seconds(3)));
  hear(seconds(9));
  EXPECT_EQ(counted(pipeline), 0u);
  EXPECT_TRUE(incidents(seconds(9)).empty());
  const auto held = pipeline.take_over(ledger(0), at(seconds(9)));
  ASSERT_EQ(held.size(), 1u);
  pipeline.apply(held[0], {});
  hear(seconds(11));
  EXPECT_EQ(counted(pipeline), 1u);
  EXPECT_EQ(incidents(seconds(11)).size(), 1u);
  EXPECT_EQ(pipeline.kills_seen_afterwards(), 0u) << "it saw this one happen";
  EXPECT_EQ(pipeline.unobserved_kills(), 0u);
}

TEST_F(StandbyTest, the_newest_are_held_and_the_rest_is_counted_as_lost) {
  for (std::size_t i = 0; i < Pipeline::kMaxHeld + 2; ++i)
    pipeline.apply(killed(static_cast<std::int32_t>(i + 1), seconds(2)));
  EXPECT_EQ(pipeline.dropped_held(), 2u);
  const auto held = pipeline.take_over(ledger(0), at(seconds(9)));
  ASSERT_EQ(held.size(), Pipeline::kMaxHeld);
  EXPECT_EQ(held.front().victim.pid, 3);
}

TEST_F(StandbyTest, what_the_other_daemon_counted_is_no_kill_unseen) {
  pipeline.apply(sampled(3, seconds(3)));
  (void)pipeline.take_over(ledger(3), at(seconds(9)));
  hear(seconds(11));
  EXPECT_EQ(counted(pipeline), 3u);
  EXPECT_EQ(pipeline.unobserved_kills(), 0u);
}

TEST_F(StandbyTest, nothing_is_certain_until_the_past_was_read) {
  pipeline.apply(sampled(1, seconds(3)));
  (void)pipeline.take_over(ledger(0), at(seconds(9)));
  pipeline.tick(at(seconds(20)));
  EXPECT_EQ(counted(pipeline), 0u);
}

TEST_F(StandbyTest, a_log_line_and_a_risen_count_are_one_kill) {
  pipeline.apply(sampled(1, seconds(3)));
  (void)pipeline.take_over(ledger(0), at(seconds(9)));
  EXPECT_EQ(pipeline.missing_in(kCgroup), 1u);
  pipeline.apply(logged_afterwards(5, seconds(2)), {});
  EXPECT_EQ(pipeline.missing_in(kCgroup), 0u);
  hear(seconds(11));
  EXPECT_EQ(counted(pipeline), 1u);
  EXPECT_EQ(pipeline.kills_seen_afterwards(), 1u);
  EXPECT_EQ(pipeline.unobserved_kills(), 0u);
  const auto found = incidents(seconds(11));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].victims.size(), 1u);
  EXPECT_THAT(found[0].notes, Contains(HasSubstr("seen afterwards, because no daemon is known to have watched from "
                                                 "1970-01-01T00:00:01Z to 1970-01-01T00:00:10Z")));
  EXPECT_TRUE(found[0].memory_stat.empty()) << "read after the kill";
  EXPECT_TRUE(found[0].series.empty());
  EXPECT_TRUE(found[0].captures.empty());
}

TEST_F(StandbyTest, a_count_that_nothing_explains_is_an_incident_seen_afterwards) {
  pipeline.apply(sampled(2, seconds(3)));
  (void)pipeline.take_over(ledger(0), at(seconds(9)));
  hear(seconds(11));
  EXPECT_EQ(counted(pipeline), 2u);
  EXPECT_EQ(pipeline.unobserved_kills(), 2u);
  EXPECT_EQ(pipeline.kills_seen_afterwards(), 2u);
  const auto found = incidents(seconds(11));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_TRUE(found[0].victims.empty());
  EXPECT_EQ(found[0].victim_count, 2u);
  EXPECT_THAT(found[0].notes, Contains(HasSubstr("seen afterwards")));
}

TEST_F(StandbyTest, a_kill_that_was_counted_and_not_written_is_written) {
  (void)pipeline.take_over(ledger(1), at(seconds(9)));
  pipeline.apply(killed(5, seconds(2)), {.is_counted = true, .is_written = false});
  EXPECT_EQ(counted(pipeline), 1u);
  EXPECT_EQ(incidents(seconds(11)).size(), 1u);
}

TEST_F(StandbyTest, a_kill_that_was_written_and_not_counted_is_counted) {
  (void)pipeline.take_over(ledger(0), at(seconds(9)));
  pipeline.apply(killed(5, seconds(2)), {.is_counted = false, .is_written = true});
  pipeline.apply(logged_afterwards(5, seconds(2)), {});
  EXPECT_EQ(counted(pipeline), 1u);
  EXPECT_TRUE(incidents(seconds(11)).empty());
}

TEST_F(StandbyTest, a_process_that_has_the_victim_s_pid_now_is_not_the_victim) {
  ProcessSeen now;
  now.time = at(seconds(8));
  now.process = {5, 800};
  now.cgroup = CgroupId{200};
  now.exe = "/bin/other";
  (void)pipeline.take_over(ledger(0), at(seconds(7)));
  pipeline.apply(now);
  OomKill kill = logged_afterwards(5, seconds(2));
  kill.victim_comm = "leak";
  pipeline.apply(kill, {});
  const auto found = incidents(seconds(11));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].victims[0].exe, "");
  EXPECT_EQ(found[0].cgroup_path, "/app");
}

TEST_F(StandbyTest, a_kill_right_after_the_start_is_no_late_report_of_one_before_it) {
  pipeline.apply(sampled(1, seconds(3)));
  (void)pipeline.take_over(ledger(0), at(seconds(9)));
  hear(seconds(10));
  pipeline.apply(killed(6, seconds(10) + milliseconds(1)));
  EXPECT_EQ(counted(pipeline), 2u);
  EXPECT_EQ(incidents(seconds(12)).size(), 2u);
}

TEST_F(StandbyTest, kills_that_are_not_on_disk_yet_are_named_to_the_next_run) {
  (void)pipeline.take_over(ledger(0), at(seconds(1)));
  pipeline.apply(killed(5, seconds(2)));
  auto recent = pipeline.recent_kills(at(seconds(100)));
  ASSERT_EQ(recent.size(), 1u);
  EXPECT_EQ(recent[0].pid, 5);
  const auto found = incidents(seconds(4));
  ASSERT_EQ(found.size(), 1u);
  pipeline.on_written(found[0], 0);
  EXPECT_TRUE(pipeline.recent_kills(at(seconds(100))).empty());
}

class DataDirLockTest : public ::testing::Test {
 protected:
  test::TemporaryDirectory directory_;
  DataDirLock first_{directory_.path()};
  DataDirLock second_{directory_.path()};
};

TEST_F(DataDirLockTest, one_has_it_and_the_other_learns_whose_it_is) {
  EXPECT_TRUE(first_.try_take().value());
  EXPECT_TRUE(first_.try_take().value()) << "again";
  EXPECT_FALSE(second_.try_take().value());
  EXPECT_EQ(second_.holder(), ::getpid());
  first_.release();
  EXPECT_TRUE(second_.try_take().value());
}

TEST_F(DataDirLockTest, a_lock_file_that_was_removed_locks_nothing) {
  EXPECT_TRUE(first_.try_take().value());
  ASSERT_EQ(::unlink((directory_.path() + "/lock").c_str()), 0);
  EXPECT_TRUE(second_.try_take().value());
  EXPECT_TRUE(second_.is_held());
}

TEST_F(DataDirLockTest, a_directory_that_is_not_there_takes_no_lock) {
  DataDirLock nowhere(directory_.path() + "/absent");
  EXPECT_FALSE(nowhere.try_take().has_value());
  EXPECT_EQ(nowhere.holder(), 0);
}

}  // namespace
}  // namespace oomw
