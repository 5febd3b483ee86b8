// SPDX-License-Identifier: Apache-2.0
#include "base/fair_queue.h"

#include <gtest/gtest.h>

#include <string>

namespace oomw {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using Added = FairQueue::Added;

MonotonicTime at(Nanoseconds since) { return {1'000'000'000'000 + since.count()}; }
ShareOwner owner(const std::string& name, const std::string& space = "") { return {name, space}; }

TEST(FairQueueTest, one_container_holds_one_worker_and_the_neighbour_gets_the_other) {
  FairQueue queue({.workers = 2});
  EXPECT_EQ(queue.add(1, owner("greedy"), at({})), Added::kYes);
  EXPECT_EQ(queue.add(2, owner("greedy"), at({})), Added::kYes);
  EXPECT_EQ(queue.next(at({})), 1u);
  EXPECT_EQ(queue.next(at({})), std::nullopt);
  EXPECT_EQ(queue.add(3, owner("neighbour"), at({})), Added::kYes);
  EXPECT_EQ(queue.next(at({})), 3u);
  queue.ended(1, milliseconds(10), at(milliseconds(10)));
  EXPECT_EQ(queue.next(at(milliseconds(10))), 2u);
}

TEST(FairQueueTest, a_namespace_never_holds_all_workers) {
  FairQueue queue({.workers = 2});
  EXPECT_EQ(queue.add(1, owner("a", "noisy"), at({})), Added::kYes);
  EXPECT_EQ(queue.add(2, owner("b", "noisy"), at({})), Added::kYes);
  EXPECT_EQ(queue.next(at({})), 1u);
  EXPECT_EQ(queue.next(at({})), std::nullopt);
  EXPECT_EQ(queue.add(3, owner("c", "quiet"), at({})), Added::kYes);
  EXPECT_EQ(queue.next(at({})), 3u);
}

TEST(FairQueueTest, who_used_the_least_comes_next) {
  FairQueue queue({.workers = 1});
  EXPECT_EQ(queue.add(1, owner("slow"), at({})), Added::kYes);
  EXPECT_EQ(queue.next(at({})), 1u);
  EXPECT_EQ(queue.add(2, owner("slow"), at({})), Added::kYes);
  EXPECT_EQ(queue.add(3, owner("fresh"), at({})), Added::kYes);
  queue.ended(1, seconds(2), at(seconds(2)));
  EXPECT_EQ(queue.next(at(seconds(2))), 3u);
}

TEST(FairQueueTest, four_slow_containers_leave_a_worker_to_those_that_are_not) {
  FairQueue queue({.workers = 2});
  std::uint64_t job = 0;
  for (const char* name : {"a", "b", "c", "d"}) {  // each is known to be slow
    ASSERT_EQ(queue.add(++job, owner(name), at({})), Added::kYes);
    ASSERT_EQ(queue.next(at({})), job);
    queue.ended(job, seconds(5), at({}));
  }
  for (const char* name : {"a", "b", "c", "d"}) ASSERT_EQ(queue.add(++job, owner(name), at({})), Added::kYes);
  EXPECT_EQ(queue.next(at({})), 5u);
  EXPECT_EQ(queue.next(at({})), std::nullopt);
  EXPECT_EQ(queue.add(++job, owner("victim"), at({})), Added::kYes);
  EXPECT_EQ(queue.next(at({})), job);
}

TEST(FairQueueTest, who_is_over_the_share_rests_longer_each_time) {
  FairQueue queue({.workers = 1, .allowed = seconds(6)});
  MonotonicTime now = at({});
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
    EXPECT_EQ(queue.add(++job, owner("greedy"), at({})), Added::kYes);
  }
  EXPECT_EQ(queue.add(++job, owner("greedy"), at({})), Added::kFull);
  EXPECT_EQ(queue.add(++job, owner("neighbour"), at({})), Added::kYes);
  EXPECT_EQ(queue.refused().count, 1u);
}

TEST(FairQueueTest, what_hangs_holds_its_containers_place_and_no_worker) {
  FairQueue queue({.workers = 1, .patience = seconds(3)});
  EXPECT_EQ(queue.add(1, owner("hangs"), at({})), Added::kYes);
  EXPECT_EQ(queue.next(at({})), 1u);
  EXPECT_EQ(queue.add(2, owner("hangs"), at({})), Added::kYes);
  EXPECT_EQ(queue.add(3, owner("neighbour"), at({})), Added::kYes);
  EXPECT_EQ(queue.next(at(seconds(2))), std::nullopt);
  EXPECT_EQ(queue.next(at(seconds(4))), 3u);
  EXPECT_EQ(queue.next(at(seconds(4))), std::nullopt);
}

TEST(FairQueueTest, owners_are_bounded) {
  FairQueue queue({.workers = 1, .allowed = milliseconds(1)});
  for (std::uint64_t job = 1; job <= FairQueue::kMaxOwners; ++job) {
    ASSERT_EQ(queue.add(job, owner(std::to_string(job)), at({})), Added::kYes);
    ASSERT_EQ(queue.next(at({})), job);
    queue.ended(job, seconds(1), at({}));
  }
  ASSERT_EQ(queue.add(5'000, owner("one more"), at({})), Added::kYes);
  ASSERT_EQ(queue.next(at({})), 5'000u);
  queue.ended(5'000, seconds(1), at({}));
  EXPECT_EQ(queue.add(5'001, owner("another"), at({})), Added::kRests) << "shares the account of those left over";
  EXPECT_EQ(queue.add(5'002, owner("another"), at(std::chrono::hours(1))), Added::kYes);
}

}  // namespace
}  // namespace oomw
