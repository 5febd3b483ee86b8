// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "support/source_tree.h"
#include "system/file_events.h"
#include "system/kmsg_source.h"

namespace oomw {
namespace {

constexpr const char* kConstraint =
    "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/pod,task_memcg=/pod/app,"
    "task=leak,pid=42,uid=7";
constexpr const char* kKilled =
    "Memory cgroup out of memory: Killed process 42 (leak) total-vm:200kB, anon-rss:100kB, file-rss:20kB, "
    "shmem-rss:4kB, UID:7 pgtables:12kB oom_score_adj:-998";

std::string constraint_with(const std::string& memcgs, const std::string& task) {
  return "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=" + memcgs +
         ",task=" + task + ",pid=42,uid=7";
}

std::string killed_with_pid(const std::string& pid) {
  std::string line = kKilled;
  return line.replace(line.find("42"), 2, pid);
}

TEST(KmsgConstraintLine, of_a_cgroup) {
  const auto line = parse_kmsg_constraint(kConstraint);
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->constraint, "CONSTRAINT_MEMCG");
  EXPECT_EQ(line->oom_memcg, "/pod");
  EXPECT_EQ(line->task_memcg, "/pod/app");
  EXPECT_EQ(line->comm, "leak");
  EXPECT_EQ(line->pid, 42);
  EXPECT_EQ(line->uid, 7u);
}

TEST(KmsgConstraintLine, of_the_node_has_no_owner) {
  const auto line = parse_kmsg_constraint(
      "oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/a,task=x,"
      "pid=1,uid=0");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->constraint, "CONSTRAINT_NONE");
  EXPECT_EQ(line->oom_memcg, "");
  EXPECT_EQ(line->task_memcg, "/a");
}

TEST(KmsgConstraintLine, comm_that_spells_the_separators) {
  const auto line = parse_kmsg_constraint(constraint_with("/pod,task_memcg=/pod/app", "a,task=b,pid=9"));
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->pid, 42);
  EXPECT_EQ(line->comm, "a,task=b,pid=9");
  EXPECT_EQ(line->task_memcg, "/pod/app");
}

TEST(KmsgConstraintLine, cgroup_name_that_spells_the_separators) {
  const auto line =
      parse_kmsg_constraint(constraint_with("/x,task_memcg=/other,task_memcg=/x,task_memcg=/other/leaf", "leak"));
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->oom_memcg, "/x,task_memcg=/other");
  EXPECT_EQ(line->task_memcg, "/x,task_memcg=/other/leaf");
}

TEST(KmsgConstraintLine, other_or_cut_lines_are_none) {
  for (const char* text :
       {"", "oom-kill:constraint=", "oom-kill:constraint=,task=,pid=1,uid=0 ",
        "xoom-kill:constraint=A,task=a,pid=1,uid=0", "oom-kill:constraint=A,task=a,pid=99999999999,uid=0",
        "oom-kill:constraint=A,task=a,pid=1"}) {
    EXPECT_FALSE(parse_kmsg_constraint(text).has_value()) << text;
  }
}

TEST(KmsgKilledLine, of_a_cgroup) {
  const auto line = parse_kmsg_killed(kKilled);
  ASSERT_TRUE(line.has_value());
  EXPECT_TRUE(line->memcg);
  EXPECT_EQ(line->pid, 42);
  EXPECT_EQ(line->comm, "leak");
  EXPECT_EQ(line->total_vm_bytes, 200u * 1024);
  EXPECT_EQ(line->anon_bytes, 100u * 1024);
  EXPECT_EQ(line->file_bytes, 20u * 1024);
  EXPECT_EQ(line->shmem_bytes, 4u * 1024);
  EXPECT_EQ(line->pgtables_bytes, 12u * 1024);
  EXPECT_EQ(line->uid, 7u);
  EXPECT_EQ(line->oom_score_adj, -998);
}

TEST(KmsgKilledLine, of_the_node) {
  const auto line = parse_kmsg_killed("Out of memory: Killed process 1 (x) total-vm:1kB, anon-rss:1kB");
  ASSERT_TRUE(line.has_value());
  EXPECT_FALSE(line->memcg);
}

TEST(KmsgKilledLine, comm_that_spells_the_sizes) {
  const auto line = parse_kmsg_killed(
      "Memory cgroup out of memory: Killed process 42 () total-vm:9kB) total-vm:200kB, anon-rss:100kB");
  ASSERT_TRUE(line.has_value());
  EXPECT_EQ(line->comm, ") total-vm:9kB");
  EXPECT_EQ(line->total_vm_bytes, 200u * 1024);
}

TEST(KmsgKilledLine, other_or_cut_lines_are_none) {
  for (const char* text : {"", "Killed process", "Memory cgroup out of memory: Killed process 42 (x",
                           "Memory cgroup out of memory: Killed process -1 (x) total-vm:1kB",
                           "x Out of memory: Killed process 1 (x) total-vm:1kB"}) {
    EXPECT_FALSE(parse_kmsg_killed(text).has_value()) << text;
  }
}

TEST(KmsgRecord, message_is_unescaped_and_without_its_dictionary) {
  EXPECT_EQ(message_of_record("3,1,2,-;a\\x0ab\\x5cx\n SUBSYSTEM=x\n"), "a\nb\\x");
  EXPECT_EQ(message_of_record("6,1,2,-,caller=T1;plain"), "plain");
  EXPECT_EQ(message_of_record("6,1,2,-;odd \\xZZ \\x1"), "odd \\xZZ \\x1");
}

TEST(KmsgRecord, what_user_space_wrote_is_not_the_kernels) {
  EXPECT_EQ(message_of_record(std::string("12,1,2,-;") + kKilled), std::nullopt);
  EXPECT_EQ(message_of_record("8,1,2,-;x"), std::nullopt);
}

TEST(KmsgRecord, malformed_is_none) {
  for (const char* text : {"", ";", "x;y", "3,1,2,-"}) EXPECT_EQ(message_of_record(text), std::nullopt) << text;
}

TEST(KmsgJoiner, two_lines_are_one_kill) {
  KmsgJoiner joiner;
  EXPECT_FALSE(joiner.on_message(kConstraint).has_value());
  const auto kill = joiner.on_message(kKilled);
  ASSERT_TRUE(kill.has_value());
  ASSERT_TRUE(kill->constraint.has_value());
  EXPECT_EQ(kill->constraint->oom_memcg, "/pod");
}

TEST(KmsgJoiner, constraint_of_another_pid_is_not_taken) {
  KmsgJoiner joiner;
  (void)joiner.on_message(constraint_with("/pod,task_memcg=/pod", "x"));
  (void)joiner.on_message("OOM victim 42 (x) is already exiting. Skip killing the task");
  const auto kill = joiner.on_message(killed_with_pid("43"));
  ASSERT_TRUE(kill.has_value());
  EXPECT_FALSE(kill->constraint.has_value());
  EXPECT_FALSE(kill->group_owner.has_value());
  EXPECT_EQ(kill->process, 43);
}

TEST(KmsgJoiner, constraint_before_a_gap_is_not_taken_by_another_pid) {
  KmsgJoiner joiner;
  (void)joiner.on_message(kConstraint);
  joiner.on_gap();
  EXPECT_FALSE(joiner.on_message(killed_with_pid("43"))->constraint.has_value());
}

TEST(KmsgJoiner, thread_of_a_dead_leader_is_the_process_of_the_line_before) {
  KmsgJoiner joiner;
  (void)joiner.on_message(kConstraint);
  const auto kill = joiner.on_message(killed_with_pid("43"));
  ASSERT_TRUE(kill->constraint.has_value());
  EXPECT_EQ(kill->process, 42);
}

TEST(KmsgJoiner, thread_of_a_dead_leader_is_the_same_process_once_more_in_its_group) {
  KmsgJoiner joiner;
  (void)joiner.on_message(kConstraint);
  (void)joiner.on_message(killed_with_pid("43"));
  (void)joiner.on_message("Tasks in /pod/app are going to be killed due to memory.oom.group set");
  EXPECT_EQ(joiner.on_message(killed_with_pid("43"))->process, 42);
  EXPECT_EQ(joiner.on_message(killed_with_pid("44"))->process, 44);
}

TEST(KmsgJoiner, group_members_share_the_first_ones_owner) {
  KmsgJoiner joiner;
  (void)joiner.on_message(kConstraint);
  (void)joiner.on_message(kKilled);
  (void)joiner.on_message("Tasks in /pod/app are going to be killed due to memory.oom.group set");
  const std::string member = killed_with_pid("43");
  EXPECT_EQ(joiner.on_message(member)->group_owner, "/pod");
  const auto kill = joiner.on_message(member);
  EXPECT_EQ(kill->group_owner, "/pod");
  EXPECT_EQ(kill->group, "/pod/app");
}

TEST(KmsgJoiner, group_after_a_rate_limited_kill_has_no_owner) {
  KmsgJoiner joiner;
  (void)joiner.on_message(kConstraint);
  (void)joiner.on_message(kKilled);
  const std::string other = killed_with_pid("43");
  (void)joiner.on_message(other);
  (void)joiner.on_message("Tasks in /b are going to be killed due to memory.oom.group set");
  EXPECT_EQ(joiner.on_message(other)->group_owner, std::nullopt);
}

TEST(KmsgJoiner, real_log_gives_both_kills) {
  std::ifstream file(test::fixtures() + "/kmsg/kills.txt");
  KmsgJoiner joiner;
  std::vector<KmsgKill> kills;
  for (std::string record; std::getline(file, record);) {
    const auto message = message_of_record(record);
    ASSERT_TRUE(message.has_value()) << record;
    if (auto kill = joiner.on_message(*message)) kills.push_back(std::move(*kill));
  }
  ASSERT_EQ(kills.size(), 2u);
  EXPECT_EQ(kills[0].constraint->task_memcg, "/shop/app");
  EXPECT_EQ(kills[0].killed.anon_bytes, 97'920u * 1024);
  EXPECT_FALSE(kills[1].constraint.has_value());
  EXPECT_EQ(kills[1].killed.pid, 5117);
}

}  // namespace
}  // namespace oomw
