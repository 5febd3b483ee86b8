// SPDX-License-Identifier: Apache-2.0
#include "model/process_table.h"

#include <gtest/gtest.h>

#include "unit/model/event_builders.h"

namespace oomw {
namespace {

using test::at_ms;
using test::exec;
using test::exited;
using test::seen;

std::vector<const ProcessState*> living_in(const ProcessTable& table, std::uint64_t cgroup, std::size_t max = 100) {
  std::vector<const ProcessState*> result;
  table.collect({cgroup}, max, result);
  return result;
}

TEST(ProcessTableTest, find_when_start_time_differs_is_nobody) {
  ProcessTable table;
  table.on_seen(seen(10, 5, 7));
  EXPECT_NE(table.find({10, 5}), nullptr);
  EXPECT_NE(table.find({10, 0}), nullptr);
  EXPECT_EQ(table.find({10, 6}), nullptr);
}

TEST(ProcessTableTest, on_exec_when_pid_is_reused_replaces_the_old_process) {
  ProcessTable table;
  table.on_seen(seen(10, 5, 7));
  table.on_exec(exec(10, 9, 8, 100));
  EXPECT_EQ(table.find({10, 5}), nullptr);
  EXPECT_EQ(table.find({10, 9})->exe, "");
  EXPECT_TRUE(living_in(table, 7).empty());
  EXPECT_EQ(living_in(table, 8).size(), 1u);
}

TEST(ProcessTableTest, on_exec_when_newer_than_what_was_read_forgets_the_old_program) {
  ProcessTable table;
  table.on_seen(seen(10, 5, 7, 0));
  table.on_exec(exec(10, 5, 7, 100));
  EXPECT_EQ(table.find({10, 5})->comm, "other");
  EXPECT_EQ(table.find({10, 5})->exe, "");
}

TEST(ProcessTableTest, on_exec_when_delivered_after_a_newer_reading_keeps_the_reading) {
  ProcessTable table;
  table.on_seen(seen(10, 5, 7, 200));
  table.on_exec(exec(10, 5, 7, 100));
  EXPECT_EQ(table.find({10, 5})->exe, "/usr/bin/leaky");
}

TEST(ProcessTableTest, on_seen_without_arguments_keeps_those_of_the_same_program_only) {
  ProcessTable table;
  ProcessSeen full = seen(10, 5, 7, 100);
  full.cmdline = "leaky --fast";
  full.go.gogc_percent = 50;
  table.on_seen(full);
  ProcessSeen plain = seen(10, 5, 7, 200);
  plain.cmdline.clear();
  plain.go = {};
  table.on_seen(plain);
  EXPECT_EQ(table.find({10, 5})->cmdline, "leaky --fast");
  EXPECT_EQ(table.find({10, 5})->go.gogc_percent, 50);
  plain.exe = "/usr/bin/other";
  plain.time = at_ms(300);
  table.on_seen(plain);
  EXPECT_EQ(table.find({10, 5})->cmdline, "");
  EXPECT_FALSE(table.find({10, 5})->go.gogc_percent);
}

TEST(ProcessTableTest, on_seen_of_an_exiting_process_forgets_no_name) {
  ProcessTable table;
  table.on_seen(seen(10, 5, 7, 100));
  ProcessSeen exiting = seen(10, 5, 7, 200);
  exiting.exe.clear();
  exiting.cmdline.clear();
  table.on_seen(exiting);
  EXPECT_EQ(table.find({10, 5})->exe, "/usr/bin/leaky");
}

TEST(ProcessTableTest, on_seen_without_a_cgroup_stays_where_it_was) {
  ProcessTable table;
  table.on_seen(seen(10, 5, 7, 100));
  table.on_seen(seen(10, 5, 0, 200));
  EXPECT_EQ(living_in(table, 7).size(), 1u);
}

TEST(ProcessTableTest, on_exit_when_known_lingers_but_does_not_live) {
  ProcessTable table;
  table.on_seen(seen(10, 5, 7));
  table.on_exit(exited(10, 5, 100));
  EXPECT_TRUE(living_in(table, 7).empty());
  ASSERT_NE(table.find({10, 5}), nullptr);
  EXPECT_EQ(table.find({10, 5})->exited_at, at_ms(100));
  table.expire(at_ms(101), at_ms(101));
  EXPECT_EQ(table.find({10, 5}), nullptr);
  EXPECT_EQ(table.size(), 0u);
}

TEST(ProcessTableTest, on_exit_when_of_an_earlier_process_changes_nothing) {
  ProcessTable table;
  table.on_seen(seen(10, 5, 7));
  table.on_exit(exited(10, 4, 100));
  EXPECT_EQ(living_in(table, 7).size(), 1u);
}

TEST(ProcessTableTest, expire_when_the_pid_lives_again_leaves_it) {
  ProcessTable table;
  table.on_seen(seen(10, 5, 7));
  table.on_exit(exited(10, 5, 100));
  table.on_seen(seen(10, 6, 7, 200));
  table.expire(at_ms(1000), at_ms(1000));
  EXPECT_NE(table.find({10, 6}), nullptr);
}

TEST(ProcessTableTest, on_seen_when_moved_changes_the_cgroup) {
  ProcessTable table;
  table.on_seen(seen(10, 5, 7, 0));
  table.on_seen(seen(10, 5, 8, 10));
  EXPECT_TRUE(living_in(table, 7).empty());
  EXPECT_EQ(living_in(table, 8).size(), 1u);
}

TEST(ProcessTableTest, on_cgroup_removed_when_processes_are_listed_ends_them) {
  ProcessTable table;
  table.on_seen(seen(10, 5, 7));
  table.on_cgroup_removed({7}, at_ms(50));
  EXPECT_EQ(table.find({10, 5})->exited_at, at_ms(50));
}

TEST(ProcessTableTest, collect_when_more_than_max_stops_there) {
  ProcessTable table;
  for (std::int32_t pid = 1; pid <= 10; ++pid) table.on_seen(seen(pid, 1, 7));
  EXPECT_EQ(living_in(table, 7, 3).size(), 3u);
  EXPECT_EQ(living_in(table, 7, 3)[0]->key.pid, 1);
}

TEST(ProcessTableTest, on_seen_when_full_counts_the_drop) {
  ProcessTable table;
  for (std::size_t i = 1; i <= ProcessTable::kMax + 3; ++i) {
    table.on_seen(seen(static_cast<std::int32_t>(i), 1, 7 + i / ProcessTable::kMaxLiving));
  }
  EXPECT_EQ(table.size(), ProcessTable::kMax);
  EXPECT_EQ(table.dropped(), 3u);
}

// A container that starts processes without end: the neighbour's are found all the same.
TEST(ProcessTableTest, on_seen_when_one_cgroup_is_over_its_share_leaves_room_for_others) {
  ProcessTable table;
  for (std::size_t i = 1; i <= ProcessTable::kMax; ++i) table.on_seen(seen(static_cast<std::int32_t>(i), 1, 7));
  EXPECT_EQ(table.size(), ProcessTable::kMaxLiving);
  EXPECT_EQ(table.over_share(), ProcessTable::kMax - ProcessTable::kMaxLiving);
  EXPECT_EQ(table.last_over_share(), CgroupId{7});
  table.on_seen(seen(100'000, 1, 8));
  EXPECT_NE(table.find({100'000, 1}), nullptr);
}

TEST(ProcessTableTest, on_exit_when_many_of_a_cgroup_exit_the_newest_linger) {
  ProcessTable table;
  const auto count = static_cast<std::int32_t>(3 * ProcessTable::kMaxExited);
  table.on_seen(seen(count + 1, 1, 8));
  table.on_exit(exited(count + 1, 1, 0));
  for (std::int32_t pid = 1; pid <= count; ++pid) {
    table.on_seen(seen(pid, 1, 7));
    if (pid == 1) table.on_kill({pid, 1});
    table.on_exit(exited(pid, 1, 1));
  }
  EXPECT_EQ(table.size(), ProcessTable::kMaxExited + 2) << "the victim and the neighbour's process are there too";
  EXPECT_NE(table.find({count, 1}), nullptr);
  EXPECT_NE(table.find({1, 1}), nullptr);
  EXPECT_NE(table.find({count + 1, 1}), nullptr);
}

TEST(ProcessTableTest, expire_when_an_exit_was_no_kill_drops_the_strings) {
  ProcessTable table;
  for (const std::int32_t pid : {1, 2, 3}) {
    table.on_seen(seen(pid, 1, 7));
    if (pid == 2) table.on_kill({pid, 1});
    table.on_exit(exited(pid, 1, 0));
  }
  table.on_kill({3, 1});  // reported after the exit
  table.expire(at_ms(1'000), at_ms(-60'000));
  EXPECT_EQ(table.find({1, 1})->cmdline, "leaky --fast");
  table.expire(at_ms(4'000), at_ms(-60'000));
  EXPECT_EQ(table.find({1, 1})->cmdline, "");
  EXPECT_EQ(table.find({1, 1})->exe, "");
  EXPECT_EQ(table.find({2, 1})->cmdline, "leaky --fast");
  EXPECT_EQ(table.find({3, 1})->cmdline, "leaky --fast");
}

}  // namespace
}  // namespace oomw
