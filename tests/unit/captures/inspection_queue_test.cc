// SPDX-License-Identifier: Apache-2.0
#include "captures/inspection_queue.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <set>
#include <vector>

#include "unit/base/set_clock.h"

namespace oomw {
namespace {

const ShareOwner kGreedy{"greedy", ""}, kNeighbour{"neighbour", ""};

class InspectionQueueTest : public ::testing::Test {
 protected:
  ~InspectionQueueTest() override { workers_.reset(); }  // before the queue that they take from
  void inspect(ProcessKey process) {
    std::unique_lock lock(mutex_);
    begun_.push_back(process.pid);
    changed_.notify_all();
    changed_.wait(lock, [&] { return !held_.contains(process.pid); });
    ended_.push_back(process.pid);
    changed_.notify_all();
  }
  void hold(std::int32_t pid) {
    const std::lock_guard lock(mutex_);
    held_.insert(pid);
  }
  void release(std::int32_t pid) {
    const std::lock_guard lock(mutex_);
    held_.erase(pid);
    changed_.notify_all();
  }
  void wait_begun(std::int32_t pid) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return std::count(begun_.begin(), begun_.end(), pid) > 0; });
  }
  void wait_ended(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_.size() >= count; });
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::int32_t> held_;
  std::vector<std::int32_t> begun_, ended_;
  SystemClock clock_;
  std::unique_ptr<WorkerPool> workers_ = std::make_unique<WorkerPool>("inspect", 2, 64);
  InspectionQueue queue_{*workers_, 2, std::chrono::seconds(60), clock_,
                         [this](ProcessKey process, std::optional<MonotonicTime>) { inspect(process); }};
};

TEST_F(InspectionQueueTest, programs_that_take_long_occupy_one_worker_of_a_container) {
  for (std::int32_t pid = 1; pid <= 6; ++pid) {
    hold(pid);
    ASSERT_TRUE(queue_.add(kGreedy, {pid, 1}, {}));
  }
  wait_begun(1);
  ASSERT_TRUE(queue_.add(kNeighbour, {100, 1}, {}));
  wait_ended(1);
  EXPECT_THAT(ended_, ::testing::ElementsAre(100));
  for (std::int32_t pid = 1; pid <= 6; ++pid) release(pid);
  wait_ended(7);
}

TEST_F(InspectionQueueTest, a_container_that_starts_too_many_loses_its_own_alone) {
  hold(1);
  ASSERT_TRUE(queue_.add(kGreedy, {1, 1}, {}));
  wait_begun(1);
  std::size_t taken = 0;
  for (std::size_t i = 0; i < InspectionQueue::kMaxWaitingOfOne + 10; ++i) taken += queue_.add(kGreedy, {2, 1}, {});
  EXPECT_EQ(taken, InspectionQueue::kMaxWaitingOfOne);
  EXPECT_TRUE(queue_.add(kNeighbour, {100, 1}, {}));
  EXPECT_EQ(queue_.over_share().count, 10u);
  EXPECT_EQ(queue_.over_share().last, kGreedy);
  release(1);
  wait_ended(taken + 2);
}

// The clock moves with each inspection, as if it took a turn's time.
TEST(InspectionQueueTurns, slow_programs_of_a_container_take_turns_with_those_of_others) {
  constexpr std::int32_t kFirst = 200;
  test::SetClock clock;
  std::mutex mutex;
  std::condition_variable changed;
  bool is_held = true;
  std::vector<std::int32_t> inspected;
  auto workers = std::make_unique<WorkerPool>("inspect", 1, 64);
  InspectionQueue queue(*workers, 1, std::chrono::seconds(60), clock,
                        [&](ProcessKey process, std::optional<MonotonicTime>) {
                          std::unique_lock lock(mutex);
                          changed.wait(lock, [&] { return !is_held; });
                          clock.advance(std::chrono::milliseconds(60));
                          inspected.push_back(process.pid);
                          changed.notify_all();
                        });
  EXPECT_TRUE(queue.add({"third", ""}, {kFirst, 1}, {}));  // the others come while the worker is busy
  for (const std::int32_t pid : {1, 2, 3}) EXPECT_TRUE(queue.add(kGreedy, {pid, 1}, {}));
  EXPECT_TRUE(queue.add(kNeighbour, {100, 1}, {}));
  {
    std::unique_lock lock(mutex);
    is_held = false;
    changed.notify_all();
    changed.wait(lock, [&] { return inspected.size() == 5; });
    EXPECT_THAT(inspected, ::testing::ElementsAre(kFirst, 1, 100, 2, 3));
  }
  workers.reset();
}

}  // namespace
}  // namespace oomw
