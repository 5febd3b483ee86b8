// SPDX-License-Identifier: Apache-2.0
#include "daemon/step_queue.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace oomw {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

Event removed(std::uint64_t cgroup) { return CgroupRemoved{{}, {cgroup}}; }
std::string name_of(const Event& event) { return std::to_string(std::get<CgroupRemoved>(event).cgroup.value); }

struct Log {
  std::vector<std::string> lines;
  StepQueue queue{[this](const Event& event) { step(event); }, [this] { settle(); }};
  std::function<void(const Event&)> in_step = [](const Event&) {};
  std::function<void()> in_settle = [] {};

  void step(const Event& event) {
    lines.push_back("begin " + name_of(event));
    in_step(event);
    lines.push_back("end " + name_of(event));
  }
  void settle() {
    lines.emplace_back("settle");
    in_settle();
  }
};

TEST(StepQueue, a_push_runs_nothing) {
  Log log;
  log.queue.push(removed(1));
  EXPECT_THAT(log.lines, IsEmpty());
}

TEST(StepQueue, what_a_step_causes_comes_after_all_that_waits_and_never_inside_it) {
  Log log;
  log.in_step = [&](const Event& event) {
    if (name_of(event) == "1") log.queue.push(removed(3));
  };
  log.queue.push(removed(1));
  log.queue.push(removed(2));
  log.queue.run_and_settle();
  EXPECT_THAT(log.lines, ElementsAre("begin 1", "end 1", "begin 2", "end 2", "begin 3", "end 3", "settle"));
}

TEST(StepQueue, settles_once_for_all_that_waited_and_again_for_what_settling_caused) {
  Log log;
  log.in_settle = [&, is_first = true]() mutable {
    if (std::exchange(is_first, false)) log.queue.push(removed(2));
  };
  log.queue.push(removed(1));
  log.queue.run_and_settle();
  EXPECT_THAT(log.lines, ElementsAre("begin 1", "end 1", "settle", "begin 2", "end 2", "settle"));
}

TEST(StepQueueDeathTest, no_step_runs_inside_another) {
  Log log;
  log.in_step = [&](const Event&) { log.queue.run(); };
  log.queue.push(removed(1));
  EXPECT_DEATH(log.queue.run(), "is_running_");
}

TEST(StepQueueDeathTest, no_step_runs_inside_settling) {
  Log log;
  log.in_settle = [&] { log.queue.run(); };
  EXPECT_DEATH(log.queue.run_and_settle(), "is_running_");
}

TEST(StepQueue, a_full_queue_counts_what_it_turns_away) {
  Log log;
  for (std::size_t i = 0; i < StepQueue::kMax + 2; ++i) log.queue.push(removed(1));
  EXPECT_EQ(log.queue.dropped(), 2u);
  std::size_t steps = 0;
  log.in_step = [&](const Event&) { ++steps; };
  log.queue.run();
  EXPECT_EQ(steps, StepQueue::kMax);
}

}  // namespace
}  // namespace oomw
