// SPDX-License-Identifier: Apache-2.0
// The small parts of the sampler and the files rung: queue, turn-taking, latch, names.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "system/cgroup_names.h"
#include "system/due_queue.h"
#include "system/level_latch.h"
#include "system/round_robin.h"
#include "system/seen_processes.h"
#include "unit/system/temp_tree.h"

namespace oomw {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr auto kAll = [](CgroupId) { return true; };

TEST(RoundRobin, members_take_turns) {
  RoundRobin robin;
  for (const std::uint64_t id : {1, 2, 3}) robin.add({id});
  EXPECT_THAT(robin.take(2, kAll), ElementsAre(CgroupId{1}, CgroupId{2}));
  EXPECT_THAT(robin.take(2, kAll), ElementsAre(CgroupId{3}, CgroupId{1}));
}

TEST(RoundRobin, nobody_is_taken_twice_in_one_round) {
  RoundRobin robin;
  robin.add({1});
  EXPECT_THAT(robin.take(5, kAll), ElementsAre(CgroupId{1}));
}

TEST(RoundRobin, those_who_left_are_dropped) {
  RoundRobin robin;
  for (const std::uint64_t id : {1, 2, 3, 4}) robin.add({id});
  const auto is_odd = [](CgroupId id) { return id.value % 2 == 1; };
  EXPECT_THAT(robin.take(4, is_odd), ::testing::UnorderedElementsAre(CgroupId{1}, CgroupId{3}));
  EXPECT_EQ(robin.size(), 2u);
  EXPECT_THAT(robin.take(4, [](CgroupId) { return false; }), IsEmpty());
  EXPECT_EQ(robin.size(), 0u);
}

TEST(LevelLatch, each_level_once_on_the_way_up) {
  constexpr std::uint32_t kLevels[] = {50, 80, 90};
  LevelLatch latch;
  EXPECT_EQ(latch.on_usage(49, 100, kLevels, 5), std::nullopt);
  EXPECT_EQ(latch.on_usage(50, 100, kLevels, 5), 50u);
  EXPECT_EQ(latch.on_usage(60, 100, kLevels, 5), std::nullopt);
  EXPECT_EQ(latch.on_usage(95, 100, kLevels, 5), 90u);
  EXPECT_EQ(latch.on_usage(100, 100, kLevels, 5), std::nullopt);
}

TEST(LevelLatch, again_only_after_falling_by_the_rearm_margin) {
  constexpr std::uint32_t kLevels[] = {50, 80, 90};
  LevelLatch latch;
  EXPECT_EQ(latch.on_usage(91, 100, kLevels, 5), 90u);
  EXPECT_EQ(latch.on_usage(86, 100, kLevels, 5), std::nullopt);
  EXPECT_EQ(latch.on_usage(91, 100, kLevels, 5), std::nullopt);
  EXPECT_EQ(latch.on_usage(84, 100, kLevels, 5), std::nullopt);
  EXPECT_EQ(latch.on_usage(91, 100, kLevels, 5), 90u);
}

TEST(LevelLatch, limit_of_zero_has_no_levels) {
  constexpr std::uint32_t kLevels[] = {50};
  LevelLatch latch;
  EXPECT_EQ(latch.on_usage(1, 0, kLevels, 5), std::nullopt);
}

TEST(SeenProcesses, another_start_time_is_another_process) {
  SeenProcesses seen;
  seen.add({7, 100});
  EXPECT_TRUE(seen.has({7, 100}));
  EXPECT_FALSE(seen.has({7, 101}));
  seen.remove(7);
  EXPECT_FALSE(seen.has({7, 100}));
}

class DueQueueTest : public ::testing::Test {
 protected:
  std::unique_ptr<EventLoop> loop = *EventLoop::make();
  SystemClock clock;
};

TEST_F(DueQueueTest, runs_in_order_of_deadline) {
  DueQueue queue(*loop, clock, 8);
  std::vector<int> order;
  queue.push(milliseconds(60), [&] {
    order.push_back(2);
    loop->stop();
  });
  queue.push(milliseconds(1), [&] { order.push_back(1); });
  loop->run();
  EXPECT_THAT(order, ElementsAre(1, 2));
  EXPECT_EQ(queue.size(), 0u);
}

TEST_F(DueQueueTest, a_task_may_push_the_next) {
  DueQueue queue(*loop, clock, 1);
  int runs = 0;
  std::function<void()> again = [&] {
    if (++runs == 3) return loop->stop();
    EXPECT_TRUE(queue.push(milliseconds(1), again));
  };
  queue.push(milliseconds(1), again);
  loop->run();
  EXPECT_EQ(runs, 3);
}

TEST_F(DueQueueTest, full_queue_refuses_and_counts) {
  DueQueue queue(*loop, clock, 1);
  EXPECT_TRUE(queue.push(milliseconds(1), [] {}));
  EXPECT_FALSE(queue.push(milliseconds(1), [] {}));
  EXPECT_EQ(queue.dropped(), 1u);
}

TEST(CgroupNames, removed_cgroup_keeps_its_name_for_a_while) {
  const test::TempTree tree;
  tree.write("cgroup.controllers", "memory");
  const auto fs = CgroupFs::probe(tree.root());
  CgroupNames names;
  names.on_event(CgroupCreated{{}, {5}, {1}, "/gone", true});
  names.on_event(CgroupRemoved{{}, {5}});
  EXPECT_EQ(names.id_of("/gone", *fs), CgroupId{5});
  for (std::uint64_t id = 100; id < 100 + CgroupNames::kMaxGone; ++id) names.on_event(CgroupRemoved{{}, {id}});
  EXPECT_EQ(names.id_of("/gone", *fs), CgroupId{});
}

TEST(CgroupNames, what_has_the_path_now_comes_first) {
  const test::TempTree tree;
  tree.write("cgroup.controllers", "memory");
  tree.write("app/cgroup.procs", "");
  const auto fs = CgroupFs::probe(tree.root());
  CgroupNames names;
  names.on_event(CgroupCreated{{}, {5}, {1}, "/app", true});
  EXPECT_EQ(names.id_of("/app", *fs), CgroupId{tree.inode("app")});
}

}  // namespace
}  // namespace oomw
