// SPDX-License-Identifier: Apache-2.0
#include "base/proc_stat.h"

#include <gtest/gtest.h>

namespace oomw {
namespace {

TEST(ProcStat, start_ticks_survive_any_comm) {
  EXPECT_EQ(ProcStat("1 (a) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20").start_ticks(), 4711u);
  const ProcStat hostile("1 (a) S 1 2 () S 9 9) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20");
  EXPECT_EQ(hostile.start_ticks(), 4711u);
  EXPECT_EQ(hostile.comm(), "a) S 1 2 () S 9 9");
}

TEST(ProcStat, cut_or_malformed_has_no_start_and_is_dead) {
  for (const char* text : {"", ")", "1 (a)", "1 (a) ", "1 a S 1 2 3 4"}) {
    EXPECT_EQ(ProcStat(text).start_ticks(), std::nullopt) << text;
    EXPECT_TRUE(ProcStat(text).is_dead()) << text;
  }
  EXPECT_EQ(ProcStat("1 (a) S 1 2 3").start_ticks(), std::nullopt);
}

TEST(ProcStat, a_zombie_is_dead_and_a_comm_that_says_so_is_not) {
  EXPECT_EQ(ProcStat("1 (a) R) S 1 2").state(), 'S');
  EXPECT_EQ(ProcStat("1 (a)").state(), '\0');
  EXPECT_TRUE(ProcStat("1 (a) Z 1 2").is_dead());
  EXPECT_FALSE(ProcStat("1 (a) Z) S 1 2").is_dead());
}

TEST(ProcStat, fields_count_as_in_the_manual) {
  const ProcStat stat("7 (x) S 1 7 7 0 -1 2097152 0");
  EXPECT_EQ(stat.flags(), 0x20'0000u);
  EXPECT_EQ(stat.field(4), 1u);
  EXPECT_EQ(stat.field(8), std::nullopt) << "-1 is no count";
  EXPECT_EQ(stat.field(2), std::nullopt);
}

TEST(ProcStatus, the_innermost_pid_is_the_last_one) {
  EXPECT_EQ(innermost_pid_of("Pid:\t42\nNSpid:\t42\t7\t1\nThreads:\t1\n"), 1u);
  EXPECT_EQ(innermost_pid_of("NSpid:\t42\n"), 42u);
  EXPECT_EQ(innermost_pid_of("Name:\tNSpid\n"), std::nullopt);  // a kernel without pid namespaces
  EXPECT_EQ(innermost_pid_of("NSpid:\t42\tx\n"), std::nullopt);
}

}  // namespace
}  // namespace oomw
