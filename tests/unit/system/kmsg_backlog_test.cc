// SPDX-License-Identifier: Apache-2.0
#include "system/kmsg_backlog.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "support/source_tree.h"
#include "system/log_clock.h"

namespace oomw {
namespace {

using std::chrono::microseconds;

std::string record(std::uint64_t us, const std::string& message) {
  return "6,1," + std::to_string(us) + ",-;" + message;
}

std::string constraint(int pid) {
  return "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/pod,"
         "task_memcg=/pod/app,task=leak,pid=" +
         std::to_string(pid) + ",uid=7";
}

std::string killed(int pid) {
  return "Memory cgroup out of memory: Killed process " + std::to_string(pid) +
         " (leak) total-vm:200kB, anon-rss:100kB, file-rss:20kB, shmem-rss:4kB, UID:7 pgtables:12kB oom_score_adj:0";
}

TEST(KmsgStamp, of_a_record) {
  EXPECT_EQ(stamp_of_record("6,7651,4742596572,-;x"), Nanoseconds(4'742'596'572'000));
  EXPECT_EQ(stamp_of_record("6,7651,12,-,caller=T1;x"), microseconds(12));
  for (const char* text :
       {"", "6", "6,1", "6,1,;x", "6,1,-3,-;x", "6,1,99999999999999999999,-;x", "6,1,9223372036854775807,-;x"}) {
    EXPECT_FALSE(stamp_of_record(text).has_value()) << text;
  }
}

TEST(KmsgMemoryLine, of_the_cgroup_at_its_limit) {
  const auto memory = parse_kmsg_memory("memory: usage 32760kB, limit 32768kB, failcnt 24");
  ASSERT_TRUE(memory.has_value());
  EXPECT_EQ(memory->usage_bytes, 32760u * 1024);
  EXPECT_EQ(memory->limit_bytes, 32768u * 1024);
  for (const char* text :
       {"swap: usage 0kB, limit 9007199254740988kB, failcnt 0", "memory: usage ", "memory: usage 1kB",
        "memory: usage 1kB, limit 9999999999999999999kB, failcnt 0", "memory: usage 1kB, limit 2"}) {
    EXPECT_FALSE(parse_kmsg_memory(text).has_value()) << text;
  }
}

TEST(KmsgBacklogTest, a_kill_has_its_stamp_its_lines_and_the_memory_that_was_printed_for_it) {
  KmsgBacklogParser parser;
  parser.on_record(record(10, "Linux version"));
  parser.on_record(record(90, "memory: usage 64kB, limit 64kB, failcnt 2"));
  parser.on_record(record(99, constraint(42)));
  parser.on_record(record(100, killed(42)));
  parser.on_record(record(200, killed(43)));  // rate-limited
  const KmsgBacklog backlog = parser.take();
  ASSERT_EQ(backlog.kills.size(), 2u);
  EXPECT_EQ(backlog.reach, microseconds(10));
  EXPECT_EQ(backlog.kills[0].stamp, microseconds(100));
  EXPECT_EQ(backlog.kills[0].kill.constraint->task_memcg, "/pod/app");
  ASSERT_TRUE(backlog.kills[0].memory.has_value());
  EXPECT_EQ(backlog.kills[0].memory->limit_bytes, 65'536u);
  EXPECT_EQ(backlog.kills[1].kill.process, 43);
  EXPECT_FALSE(backlog.kills[1].memory.has_value());
  EXPECT_EQ(backlog.lost, 0u);
}

TEST(KmsgBacklogTest, memory_printed_before_a_gap_is_nobody_s) {
  KmsgBacklogParser parser;
  parser.on_record(record(90, "memory: usage 64kB, limit 64kB, failcnt 2"));
  parser.on_gap();
  parser.on_record(record(99, constraint(42)));
  parser.on_record(record(100, killed(42)));
  const KmsgBacklog backlog = parser.take();
  ASSERT_EQ(backlog.kills.size(), 1u);
  EXPECT_FALSE(backlog.kills[0].memory.has_value());
  EXPECT_EQ(backlog.lost, 1u);
}

TEST(KmsgBacklogTest, what_a_process_wrote_into_the_log_is_no_kill) {
  KmsgBacklogParser parser;
  parser.on_record("12,1,100,-;" + killed(42));
  EXPECT_TRUE(parser.take().kills.empty());
}

TEST(KmsgBacklogTest, the_newest_kills_stay_when_there_are_too_many) {
  KmsgBacklogParser parser;
  constexpr int kKills = KmsgBacklogParser::kMaxKills + 3;
  for (int i = 1; i <= kKills; ++i) parser.on_record(record(i, killed(i)));
  const KmsgBacklog backlog = parser.take();
  EXPECT_EQ(backlog.kills.size(), KmsgBacklogParser::kMaxKills);
  EXPECT_EQ(backlog.kills.back().kill.process, kKills);
  EXPECT_EQ(backlog.lost, 3u);
}

TEST(KmsgBacklogTest, recorded_log_of_real_kills) {
  std::ifstream file(test::fixtures() + "/kmsg/kills.txt");
  KmsgBacklogParser parser;
  int killed_lines = 0;
  for (std::string line; std::getline(file, line);) {
    killed_lines += line.find(": Killed process ") != std::string::npos ? 1 : 0;
    parser.on_record(line);
  }
  const KmsgBacklog backlog = parser.take();
  ASSERT_GT(killed_lines, 0);
  EXPECT_EQ(backlog.kills.size(), static_cast<std::size_t>(killed_lines));
  for (std::size_t i = 1; i < backlog.kills.size(); ++i) EXPECT_LE(backlog.kills[i - 1].stamp, backlog.kills[i].stamp);
}

TEST(KmsgBacklogTest, a_log_that_is_not_there_is_an_error_that_names_it) {
  const auto backlog = read_kmsg_backlog("/nonexistent/kmsg", SystemClock());
  ASSERT_FALSE(backlog.has_value());
  EXPECT_NE(backlog.error().message.find("/nonexistent/kmsg"), std::string::npos);
}

TEST(KmsgBacklogTest, the_kernel_s_own_is_read_to_its_end) {
  const auto backlog = read_kmsg_backlog("/dev/kmsg", SystemClock());
  if (!backlog.has_value()) GTEST_SKIP() << backlog.error().message;
  EXPECT_TRUE(backlog->reach.has_value());
}

// It drifts by 500 ppm at most.
TEST(LogClockTest, is_close_to_the_monotonic_clock) {
  const SystemClock clock;
  const auto ahead = measure_log_clock(clock);
  if (!ahead.has_value()) GTEST_SKIP() << ahead.error().message;
  EXPECT_LT(std::abs(ahead->count()), clock.now().ns / 1'000 + 1'000'000'000);
}

}  // namespace
}  // namespace oomw
