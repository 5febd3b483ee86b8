// SPDX-License-Identifier: Apache-2.0
#include "base/fair_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace oomw {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Added = FairQueue::Added;

MonotonicTime later(Nanoseconds since) { return {1'000'000'000'000 + since.count()}; }
ShareOwner owner(const std::string& name, const std::string& space = "") { return {name, space}; }

TEST(FairQueueTest, one_container_holds_one_worker_and_the_neighbour_gets_the_other) {
  FairQueue queue({.workers = 2});
  EXPECT_EQ(queue.add(1, owner("greedy"), later({})), Added::kYes);
  EXPECT_EQ(queue.add(2, owner("greedy"), later({})), Added::kYes);
  EXPECT_EQ(queue.next(later({})), 1u);
  EXPECT_EQ(queue.next(later({})), std::nullopt);
  EXPECT_EQ(queue.add(3, owner("neighbour"), later({})), Added::kYes);
  EXPECT_EQ(queue.next(later({})), 3u);
  queue.ended(1, milliseconds(10), later(milliseconds(10)));
  EXPECT_EQ(queue.next(later(milliseconds(10))), 2u);
}

TEST(FairQueueTest, a_namespace_never_holds_all_workers) {
  FairQueue queue({.workers = 2});
  EXPECT_EQ(queue.add(1, owner("a", "noisy"), later({})), Added::kYes);
  EXPECT_EQ(queue.add(2, owner("b", "noisy"), later({})), Added::kYes);
  EXPECT_EQ(queue.next(later({})), 1u);
  EXPECT_EQ(queue.next(later({})), std::nullopt);
  EXPECT_EQ(queue.add(3, owner("c", "quiet"), later({})), Added::kYes);
  EXPECT_EQ(queue.next(later({})), 3u);
}

TEST(FairQueueTest, who_used_the_least_comes_next) {
  FairQueue queue({.workers = 1});
  EXPECT_EQ(queue.add(1, owner("slow"), later({})), Added::kYes);
  EXPECT_EQ(queue.next(later({})), 1u);
  EXPECT_EQ(queue.add(2, owner("slow"), later({})), Added::kYes);
  EXPECT_EQ(queue.add(3, owner("fresh"), later({})), Added::kYes);
  queue.ended(1, seconds(2), later(seconds(2)));
  EXPECT_EQ(queue.next(later(seconds(2))), 3u);
}

TEST(FairQueueTest, four_slow_containers_leave_a_worker_to_those_that_are_not) {
  FairQueue queue({.workers = 2});
  std::uint64_t job = 0;
  for (const char* name : {"a", "b", "c", "d"}) {  // each is known to be slow
    ASSERT_EQ(queue.add(++job, owner(name), later({})), Added::kYes);
    ASSERT_EQ(queue.next(later({})), job);
    queue.ended(job, seconds(5), later({}));
  }
  for (const char* name : {"a", "b", "c", "d"}) ASSERT_EQ(queue.add(++job, owner(name), later({})), Added::kYes);
  EXPECT_EQ(queue.next(later({})), 5u);
  EXPECT_EQ(queue.next(later({})), std::nullopt);
  EXPECT_EQ(queue.add(++job, owner("victim"), later({})), Added::kYes);
  EXPECT_EQ(queue.next(later({})), job);
}

TEST(FairQueueTest, who_is_over_the_share_rests_longer_each_time) {
  FairQueue queue({.workers = 1, .allowed = seconds(6)});
  MonotonicTime now = later({});
  std::uint64_t job = 0;
  const auto run = [&](const char* name, Nanoseconds cost) {
    const Added added = queue.add(++job, owner(name), now);
    if (added != Added::kYes) return false;
    EXPECT_EQ(queue.next(now), job);
    now = now + cost;
    queue.ended(job, cost, now);
    return true;
  };
  EXPECT_TRUE(run("slow", seconds(5)));
  EXPECT_TRUE(run("slow", seconds(5)));
  EXPECT_FALSE(run("slow", seconds(1)));
  EXPECT_TRUE(run("neighbour", milliseconds(1)));
  EXPECT_EQ(queue.rested().count, 1u);
  EXPECT_EQ(queue.rested().last.container, "slow");
  now = now + CostShare::kRest;
  EXPECT_TRUE(run("slow", seconds(7)));
  now = now + CostShare::kRest;
  EXPECT_FALSE(run("slow", seconds(1))) << "twice as long";
  now = now + CostShare::kRest;
  EXPECT_TRUE(run("slow", seconds(1)));
}

TEST(FairQueueTest, a_container_that_fills_its_places_is_refused_alone) {
  FairQueue queue({.workers = 1});
  std::uint64_t job = 0;
  for (std::size_t i = 0; i < FairQueue::kMaxWaitingOfOne; ++i) {
    EXPECT_EQ(queue.add(++job, owner("greedy"), later({})), Added::kYes);
  }
  EXPECT_EQ(queue.add(++job, owner("greedy"), later({})), Added::kFull);
  EXPECT_EQ(queue.add(++job, owner("neighbour"), later({})), Added::kYes);
  EXPECT_EQ(queue.refused().count, 1u);
}

TEST(FairQueueTest, what_hangs_holds_its_containers_place_and_no_worker) {
  FairQueue queue({.workers = 1, .patience = seconds(3)});
  EXPECT_EQ(queue.add(1, owner("hangs"), later({})), Added::kYes);
  EXPECT_EQ(queue.next(later({})), 1u);
  EXPECT_EQ(queue.add(2, owner("hangs"), later({})), Added::kYes);
  EXPECT_EQ(queue.add(3, owner("neighbour"), later({})), Added::kYes);
  EXPECT_EQ(queue.next(later(seconds(2))), std::nullopt);
  EXPECT_EQ(queue.next(later(seconds(4))), 3u);
  EXPECT_EQ(queue.next(later(seconds(4))), std::nullopt);
}

TEST(FairQueueTest, owners_are_bounded) {
  FairQueue queue({.workers = 1, .allowed = milliseconds(1)});
  for (std::uint64_t job = 1; job <= FairQueue::kMaxOwners; ++job) {
    ASSERT_EQ(queue.add(job, owner(std::to_string(job)), later({})), Added::kYes);
    ASSERT_EQ(queue.next(later({})), job);
    queue.ended(job, seconds(1), later({}));
  }
  ASSERT_EQ(queue.add(5'000, owner("one more"), later({})), Added::kYes);
  ASSERT_EQ(queue.next(later({})), 5'000u);
  queue.ended(5'000, seconds(1), later({}));
  EXPECT_EQ(queue.add(5'001, owner("another"), later({})), Added::kRests) << "shares the account of those left over";
  EXPECT_EQ(queue.add(5'002, owner("another"), later(std::chrono::hours(1))), Added::kYes);
}

}  // namespace
}  // namespace oomw
