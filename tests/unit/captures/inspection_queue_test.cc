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

}  // namespace
}  // namespace oomw
